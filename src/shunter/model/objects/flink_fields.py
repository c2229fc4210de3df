"""Tables of the fields of `flinkSpec`: those that Shunter's workers use, with their types, and those of a FlinkCluster
that have no meaning there, with the reason. Read by `model.objects.application_fields`."""

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

NO_IMAGES = "Shunter uses no images: the Flink that is installed on the nodes runs the application"
SIZED_BY_DRIVER_SPEC = "set the resources of the JobManager in spec.driver: {cpu, memory}"
SIZED_BY_SLOT = "the slot sets the size of a TaskManager, and the Scheduling their number"
NO_AUTO_SAVEPOINTS = "Shunter takes no savepoints of a batch job by itself"

IGNORED_FLINK_FIELDS = {
    "image": NO_IMAGES,
    "flinkVersion": NO_IMAGES,
    "jobManager": SIZED_BY_DRIVER_SPEC,
    "resources": SIZED_BY_DRIVER_SPEC,
    "taskManager": SIZED_BY_SLOT,
    "mode": "each application has its own cluster, whose JobManager runs until the application ends",
    "envFrom": NO_CLUSTER_OBJECTS,
    "volumes": NO_CLUSTER_OBJECTS,
    "volumeMounts": NO_CLUSTER_OBJECTS,
    "hadoopConfig": NO_CLUSTER_OBJECTS,
    "gcpConfig": NO_CLUSTER_OBJECTS,
    "logConfig": "the task logs have them: see shunter logs",
    "noLoggingToStdout": "the task logs have them: see shunter logs",
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
    "cleanupPolicy": "all processes of an application end with it",
    "cancelRequested": "a run ends when its Scheduling is deleted",
    "takeSavepointOnUpdate": NO_AUTO_SAVEPOINTS,
    "autoSavepointSeconds": NO_AUTO_SAVEPOINTS,
    "savepointGeneration": NO_AUTO_SAVEPOINTS,
    "maxStateAgeToRestoreSeconds": NO_AUTO_SAVEPOINTS,
    "recreateOnUpdate": "changing a BatchJob does not change its current run",
    "revisionHistoryLimit": "the cluster limits the history",
}
IGNORED_PROPERTIES = {
    "jobmanager.rpc.address": "Shunter uses the address of the node",
    "jobmanager.rpc.port": "the node chooses free ports",
    "jobmanager.bind-host": "Shunter uses the address of the node",
    "rest.address": "Shunter uses the address of the node",
    "rest.bind-address": "Shunter uses the address of the node",
    "rest.port": "the node chooses free ports",
    "rest.bind-port": "the node chooses free ports",
    "blob.server.port": "the node chooses free ports",
    "taskmanager.numberOfTaskSlots": "a TaskManager has exactly one slot, that of its Testbed",
    "taskmanager.resource-id": "Shunter names a TaskManager after its slot",
    "taskmanager.host": "Shunter uses the address of the node",
    "taskmanager.bind-host": "Shunter uses the address of the node",
    "web.submit.enable": "anyone who can reach the port could run programs as you",
    "web.cancel.enable": "a run ends when its Scheduling is deleted",
    "parallelism.default": "set flinkSpec.parallelism",
}
IGNORED_PROPERTY_PREFIXES = {"jobmanager.memory.": SIZED_BY_DRIVER_SPEC, "taskmanager.memory.": SIZED_BY_SLOT}


def ignored_reason(property_name: str) -> str | None:
    """Why a setting of Flink is not passed on; None if it is."""
    prefixes = IGNORED_PROPERTY_PREFIXES.items()
    by_prefix = next((reason for prefix, reason in prefixes if property_name.startswith(prefix)), None)
    return IGNORED_PROPERTIES.get(property_name, by_prefix)


FLINK = Section(
    "an Apache Flink application",
    {
        "jarFile": FILE.about("path of its jar on the nodes"),
        "className": CLASS.about("class with the main method; default: that of the jar's manifest"),
        "args": ARGUMENTS,
        "parallelism": integer(1, PARALLELISM_MAX).about("default parallelism of operators; default: one per slot"),
        "classPath": value_list(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list").about(
            "additional jars on the nodes"
        ),
        "pyFile": FILE.about("Python program instead of a jar"),
        "pyModule": text(r"^\w+(\.\w+)*$", size_max=512, rule="a module like jobs.words").about(
            "Python module instead of a jar; pyFiles must contain it"
        ),
        "pyFiles": value_list(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list").about(
            "files and directories that Python programs import from"
        ),
        "fromSavepoint": text(size_max=PATH_SIZE_MAX).about("path of the savepoint to resume from"),
        "allowNonRestoredState": boolean(default=False).about(
            "whether to ignore savepoint state that no operator uses"
        ),
        "savepointsDir": text(size_max=PATH_SIZE_MAX).about("directory of savepoints that users request"),
        "flinkProperties": CONF.about("Flink settings; Shunter reports those that it sets itself"),
        "envVars": env_field().about("environment variables of JobManager and TaskManagers"),
        **ignored_fields(IGNORED_FLINK_FIELDS),
    },
)
