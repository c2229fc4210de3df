"""The fields of `flinkSpec`, as tables: those that act on Shunter's workers, with their types, and those of a
FlinkCluster that have no meaning there, with the reason. Read by `model.objects.application_fields`."""

from __future__ import annotations

from shunter.model.job.task_fields import PATH_SIZE_MAX
from shunter.model.objects.environment_fields import either
from shunter.model.objects.spark_fields import (
    ACCOUNTS,
    ARGUMENTS,
    CLASS,
    CLUSTER_OBJECTS,
    CONF,
    DEPENDENCIES_MAX,
    FILE,
    ONCE,
    PLACES,
    PODS,
    not_here,
)
from shunter.model.schema.field_lists import texts
from shunter.model.schema.fields import Section, flag, text, whole

PARALLELISM_MAX = 32_768  # Flink's own

IMAGES = "there are no images here: the Flink that is installed on the nodes runs the application"
JOB_MANAGER = "what a JobManager may use is said by spec.driver: {cpu, memory}"
TASK_MANAGER = "the slot says what a TaskManager may use, and the Scheduling how many there are"
SAVEPOINTS = "nobody takes savepoints of a batch job by itself"

FLINK_NOT_HERE = {
    "image": IMAGES,
    "flinkVersion": IMAGES,
    "jobManager": JOB_MANAGER,
    "resources": JOB_MANAGER,
    "taskManager": TASK_MANAGER,
    "mode": "applications are always of their own cluster, and their JobManager runs until they have ended",
    "envFrom": CLUSTER_OBJECTS,
    "volumes": CLUSTER_OBJECTS,
    "volumeMounts": CLUSTER_OBJECTS,
    "hadoopConfig": CLUSTER_OBJECTS,
    "gcpConfig": CLUSTER_OBJECTS,
    "logConfig": "logs are those of the tasks: see shunter logs",
    "noLoggingToStdout": "logs are those of the tasks: see shunter logs",
    "initContainers": PODS,
    "podAnnotations": PODS,
    "podLabels": PODS,
    "securityContext": PODS,
    "hostAliases": PODS,
    "serviceAccountName": ACCOUNTS,
    "nodeSelector": PLACES,
    "tolerations": PLACES,
    "affinity": PLACES,
    "batchSchedulerName": PLACES,
    "batchScheduler": PLACES,
    "restartPolicy": ONCE,
    "cleanupPolicy": "everything of an application ends with it",
    "cancelRequested": "a run ends when its Scheduling is deleted",
    "takeSavepointOnUpdate": SAVEPOINTS,
    "autoSavepointSeconds": SAVEPOINTS,
    "savepointGeneration": SAVEPOINTS,
    "maxStateAgeToRestoreSeconds": SAVEPOINTS,
    "recreateOnUpdate": "a run is not changed by a change of its BatchJob",
    "revisionHistoryLimit": "the history has limits of its own",
}
PROPERTIES_NOT_HERE = {
    "jobmanager.rpc.address": "the node's own address is used",
    "jobmanager.rpc.port": "the node chooses free ports",
    "jobmanager.bind-host": "the node's own address is used",
    "rest.address": "the node's own address is used",
    "rest.bind-address": "the node's own address is used",
    "rest.port": "the node chooses free ports",
    "rest.bind-port": "the node chooses free ports",
    "blob.server.port": "the node chooses free ports",
    "taskmanager.numberOfTaskSlots": "a TaskManager has one slot: that of its testbed",
    "taskmanager.resource-id": "a TaskManager is called by its slot",
    "taskmanager.host": "the node's own address is used",
    "taskmanager.bind-host": "the node's own address is used",
    "web.submit.enable": "whoever reaches the port could run programs as you",
    "web.cancel.enable": "a run ends when its Scheduling is deleted",
    "parallelism.default": "say it in flinkSpec.parallelism",
}
PROPERTY_PREFIXES_NOT_HERE = {"jobmanager.memory.": JOB_MANAGER, "taskmanager.memory.": TASK_MANAGER}


def why_not_here(property_name: str) -> str | None:
    """Why a setting of Flink is not passed on; None where it is."""
    prefixes = PROPERTY_PREFIXES_NOT_HERE.items()
    by_prefix = next((reason for prefix, reason in prefixes if property_name.startswith(prefix)), None)
    return PROPERTIES_NOT_HERE.get(property_name, by_prefix)


FLINK = Section(
    "an application of Apache Flink",
    {
        "jarFile": FILE.about("its jar, on the nodes"),
        "className": CLASS.about("the class with its main method; without it that of the jar's manifest"),
        "args": ARGUMENTS,
        "parallelism": whole(1, PARALLELISM_MAX).about("of operators that say nothing themselves; else one a slot"),
        "classPath": texts(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list").about("more jars on the nodes"),
        "pyFile": FILE.about("a Python program instead of a jar"),
        "pyModule": text(r"^\w+(\.\w+)*$", size_max=512, what="a module like jobs.words").about(
            "a Python module instead of a jar; pyFiles says where it is"
        ),
        "pyFiles": texts(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list").about(
            "files and folders that Python programs import from"
        ),
        "fromSavepoint": text(size_max=PATH_SIZE_MAX).about("the path of a savepoint to go on from"),
        "allowNonRestoredState": flag(default=False).about("whether state of the savepoint may be left out"),
        "savepointsDir": text(size_max=PATH_SIZE_MAX).about("where savepoints go that somebody asks for"),
        "flinkProperties": CONF.about("settings of Flink; those that Shunter has to make itself are reported"),
        "envVars": either().about("variables of JobManager and TaskManagers"),
        **not_here(FLINK_NOT_HERE),
    },
)
