"""The fields of `flinkSpec`, as tables: those that act on Shunter's workers, with their types, and those of a
FlinkCluster that have no meaning there, with the reason. Read by `model.objects.application_fields`."""

from __future__ import annotations

from shunter.model.job.task_fields import PATH_SIZE_MAX
from shunter.model.objects.environment_fields import env_field
from shunter.model.objects.spark_fields import (
    ARGUMENTS,
    CLASS,
    CONF,
    DEPENDENCIES_MAX,
    FILE,
    NO_CLUSTER_OBJECTS,
    NO_PODS,
    PLACED_BY_SLOTS,
    RUNS_AS_WORKER_USER,
    SINGLE_ATTEMPT,
    ignored_fields,
)
from shunter.model.schema.field_lists import value_list
from shunter.model.schema.fields import Section, boolean, integer, text

PARALLELISM_MAX = 32_768  # Flink's own

NO_IMAGES = "there are no images here: the Flink that is installed on the nodes runs the application"
SIZED_BY_DRIVER_SPEC = "what a JobManager may use is said by spec.driver: {cpu, memory}"
SIZED_BY_SLOT = "the slot says what a TaskManager may use, and the Scheduling how many there are"
NO_AUTO_SAVEPOINTS = "nobody takes savepoints of a batch job by itself"

IGNORED_FLINK_FIELDS = {
    "image": NO_IMAGES,
    "flinkVersion": NO_IMAGES,
    "jobManager": SIZED_BY_DRIVER_SPEC,
    "resources": SIZED_BY_DRIVER_SPEC,
    "taskManager": SIZED_BY_SLOT,
    "mode": "applications are always of their own cluster, and their JobManager runs until they have ended",
    "envFrom": NO_CLUSTER_OBJECTS,
    "volumes": NO_CLUSTER_OBJECTS,
    "volumeMounts": NO_CLUSTER_OBJECTS,
    "hadoopConfig": NO_CLUSTER_OBJECTS,
    "gcpConfig": NO_CLUSTER_OBJECTS,
    "logConfig": "logs are those of the tasks: see shunter logs",
    "noLoggingToStdout": "logs are those of the tasks: see shunter logs",
    "initContainers": NO_PODS,
    "podAnnotations": NO_PODS,
    "podLabels": NO_PODS,
    "securityContext": NO_PODS,
    "hostAliases": NO_PODS,
    "serviceAccountName": RUNS_AS_WORKER_USER,
    "nodeSelector": PLACED_BY_SLOTS,
    "tolerations": PLACED_BY_SLOTS,
    "affinity": PLACED_BY_SLOTS,
    "batchSchedulerName": PLACED_BY_SLOTS,
    "batchScheduler": PLACED_BY_SLOTS,
    "restartPolicy": SINGLE_ATTEMPT,
    "cleanupPolicy": "everything of an application ends with it",
    "cancelRequested": "a run ends when its Scheduling is deleted",
    "takeSavepointOnUpdate": NO_AUTO_SAVEPOINTS,
    "autoSavepointSeconds": NO_AUTO_SAVEPOINTS,
    "savepointGeneration": NO_AUTO_SAVEPOINTS,
    "maxStateAgeToRestoreSeconds": NO_AUTO_SAVEPOINTS,
    "recreateOnUpdate": "a run is not changed by a change of its BatchJob",
    "revisionHistoryLimit": "the history has limits of its own",
}
IGNORED_PROPERTIES = {
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
IGNORED_PROPERTY_PREFIXES = {"jobmanager.memory.": SIZED_BY_DRIVER_SPEC, "taskmanager.memory.": SIZED_BY_SLOT}


def ignored_reason(property_name: str) -> str | None:
    """Why a setting of Flink is not passed on; None where it is."""
    prefixes = IGNORED_PROPERTY_PREFIXES.items()
    by_prefix = next((reason for prefix, reason in prefixes if property_name.startswith(prefix)), None)
    return IGNORED_PROPERTIES.get(property_name, by_prefix)


FLINK = Section(
    "an application of Apache Flink",
    {
        "jarFile": FILE.about("its jar, on the nodes"),
        "className": CLASS.about("the class with its main method; without it that of the jar's manifest"),
        "args": ARGUMENTS,
        "parallelism": integer(1, PARALLELISM_MAX).about("of operators that say nothing themselves; else one a slot"),
        "classPath": value_list(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list").about(
            "more jars on the nodes"
        ),
        "pyFile": FILE.about("a Python program instead of a jar"),
        "pyModule": text(r"^\w+(\.\w+)*$", size_max=512, rule="a module like jobs.words").about(
            "a Python module instead of a jar; pyFiles says where it is"
        ),
        "pyFiles": value_list(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list").about(
            "files and folders that Python programs import from"
        ),
        "fromSavepoint": text(size_max=PATH_SIZE_MAX).about("the path of a savepoint to go on from"),
        "allowNonRestoredState": boolean(default=False).about("whether state of the savepoint may be left out"),
        "savepointsDir": text(size_max=PATH_SIZE_MAX).about("where savepoints go that somebody asks for"),
        "flinkProperties": CONF.about("settings of Flink; those that Shunter has to make itself are reported"),
        "envVars": env_field().about("variables of JobManager and TaskManagers"),
        **ignored_fields(IGNORED_FLINK_FIELDS),
    },
)
