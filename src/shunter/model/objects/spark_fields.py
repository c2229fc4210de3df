"""Tables of the fields of `sparkSpec`: those that Shunter's workers use, with their types, and those of a
SparkApplication that have no meaning there, with the reason. Read by `model.objects.application_fields`."""

from __future__ import annotations

from typing import Any

from shunter.model.job.task_fields import COMMAND_WORD_SIZE_MAX, COMMAND_WORDS_MAX, PATH_SIZE_MAX
from shunter.model.objects.environment_fields import ENVIRONMENT, VARIABLES
from shunter.model.resources import AMOUNT_MAX, CPU, MEMORY
from shunter.model.schema.field_lists import mapping, value_list
from shunter.model.schema.fields import Field, Section, amount, any_value, choice, integer, text
from shunter.model.schema.problems import Problems

CORES_MAX = 1024
CONF_MAX = 512
CONF_SIZE_MAX = 32 * 2**10
DEPENDENCIES_MAX = 256
NAME_SIZE_MAX = 512  # of a Java class
CLASS_PATTERN = r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$"
FILE_PATTERN = r"^(local://|file:(//)?)?/[^\u0000]*$"
FILE_RULE = "a path on the nodes, like local:///opt/jobs/words.jar or /opt/jobs/words.py"
JVM_MEMORY_PATTERN = r"^[0-9]{1,12}([kmgt]b?)?$"

NO_PODS = "Shunter has no pods: the application runs as processes on the nodes"
NO_IMAGES = "Shunter uses no images: the Spark that is installed on the nodes runs the application"
SIZED_BY_SLOT = "the slot sets the size of an executor, and the Scheduling their number"
NO_CLUSTER_OBJECTS = "Shunter has no config maps, secrets or volumes: programs see the files of their node"
SINGLE_ATTEMPT = "a run of a BatchJob is one attempt; run it again with another Scheduling"
PLACED_BY_SLOTS = "slots determine where executors run, and the active policy where the driver runs"
RUNS_AS_WORKER_USER = "the application runs as the user of the worker"

_IGNORED_POD_FIELDS = {
    "template": NO_PODS,
    "coreLimit": "a driver or executor can use only what it requests",
    "memoryLimit": "a driver or executor can use only what it requests",
    "gpu": "slots have only CPU and memory",
    "image": NO_IMAGES,
    "configMaps": NO_CLUSTER_OBJECTS,
    "secrets": NO_CLUSTER_OBJECTS,
    "envFrom": NO_CLUSTER_OBJECTS,
    "envSecretKeyRefs": NO_CLUSTER_OBJECTS,
    "labels": NO_PODS,
    "annotations": NO_PODS,
    "volumeMounts": NO_CLUSTER_OBJECTS,
    "affinity": PLACED_BY_SLOTS,
    "tolerations": PLACED_BY_SLOTS,
    "podSecurityContext": NO_PODS,
    "securityContext": NO_PODS,
    "schedulerName": PLACED_BY_SLOTS,
    "sidecars": NO_PODS,
    "initContainers": NO_PODS,
    "hostNetwork": "processes always use the network of their node",
    "nodeSelector": PLACED_BY_SLOTS,
    "dnsConfig": NO_PODS,
    "terminationGracePeriodSeconds": NO_PODS,
    "serviceAccount": RUNS_AS_WORKER_USER,
    "hostAliases": NO_PODS,
    "shareProcessNamespace": NO_PODS,
    "priorityClassName": "only jobs have priorities",
    "lifecycle": NO_PODS,
    "ports": "the node chooses free ports",
}
IGNORED_DRIVER_FIELDS = _IGNORED_POD_FIELDS | {
    "podName": NO_PODS,
    "kubernetesMaster": NO_PODS,
    "serviceAnnotations": NO_PODS,
    "serviceLabels": NO_PODS,
}
IGNORED_EXECUTOR_FIELDS = _IGNORED_POD_FIELDS | {
    "coreRequest": SIZED_BY_SLOT,
    "memory": SIZED_BY_SLOT,
    "memoryOverhead": SIZED_BY_SLOT,
    "instances": SIZED_BY_SLOT,
    "deleteOnTermination": NO_PODS,
}
IGNORED_SPARK_FIELDS = {
    "image": NO_IMAGES,
    "imagePullPolicy": NO_IMAGES,
    "imagePullSecrets": NO_IMAGES,
    "sparkVersion": "the Spark that is installed on the nodes runs the application",
    "pythonVersion": "the Python of the installed Spark runs the application",
    "proxyUser": RUNS_AS_WORKER_USER,
    "suspend": "a Scheduling starts the application",
    "sparkConfigMap": NO_CLUSTER_OBJECTS,
    "hadoopConfigMap": NO_CLUSTER_OBJECTS,
    "volumes": NO_CLUSTER_OBJECTS,
    "nodeSelector": PLACED_BY_SLOTS,
    "failureRetries": SINGLE_ATTEMPT,
    "retryInterval": SINGLE_ATTEMPT,
    "memoryOverheadFactor": "Shunter divides the memory of a slot by its size",
    "monitoring": "the cluster provides the metrics of a run",
    "batchScheduler": PLACED_BY_SLOTS,
    "batchSchedulerOptions": PLACED_BY_SLOTS,
    "timeToLiveSeconds": "the cluster limits the history",
    "sparkUIOptions": NO_PODS,
    "driverIngressOptions": NO_PODS,
    "dynamicAllocation": SIZED_BY_SLOT,
}
IGNORED_CONF = {
    "spark.master": "every application has its own master",
    "spark.submit.deployMode": "the driver runs on a node of the cluster",
    "spark.app.name": "the application has the name of its BatchJob",
    "spark.driver.host": "Shunter uses the address of the node",
    "spark.driver.bindAddress": "Shunter uses the address of the node",
    "spark.driver.port": "the node chooses free ports",
    "spark.driver.blockManager.port": "the node chooses free ports",
    "spark.ui.port": "the node chooses free ports",
    "spark.authenticate": "every run has its own secret",
    "spark.authenticate.secret": "every run has its own secret",
    "spark.driver.memory": "set sparkSpec.driver.memory",
    "spark.executor.memory": SIZED_BY_SLOT,
    "spark.executor.memoryOverhead": SIZED_BY_SLOT,
    "spark.executor.cores": "set sparkSpec.executor.cores",
    "spark.executor.instances": SIZED_BY_SLOT,
    "spark.cores.max": SIZED_BY_SLOT,
    "spark.dynamicAllocation.enabled": SIZED_BY_SLOT,
}


def _kind() -> Field:
    """R is rejected: nodes have neither the language nor its part of Spark."""
    known = choice("Scala", "Java", "Python", required=True)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if value == "R":
            fix = "use Scala, Java or Python"
            problems.add(path, "Spark from PyPI does not contain R support, which Spark has deprecated", fix=fix)
            return value
        return known.read(value, path, problems)

    return Field(read, known.schema, required=True)


def _jvm_memory() -> Field:
    """Bytes, from Spark's way of writing them (`512m` is half a gibibyte) or a quantity (`512Mi`)."""
    quantity = amount(MEMORY, 2**20, AMOUNT_MAX)
    units = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}
    rule = text(JVM_MEMORY_PATTERN, size_max=20)

    def read(value: Any, path: str, problems: Problems) -> int:
        if isinstance(value, str) and value.rstrip("b")[-1:] in units:
            bare = value.removesuffix("b")
            value = bare[:-1] + units[bare[-1]]
        found: int = quantity.read(value, path, problems)
        return found

    return Field(read, {"description": "memory like 512m or 1g", "anyOf": [rule.schema, quantity.schema]})


FILE = text(FILE_PATTERN, size_max=PATH_SIZE_MAX, rule=FILE_RULE)
CLASS = text(CLASS_PATTERN, size_max=NAME_SIZE_MAX, rule="a class like org.example.Words")
ARGUMENTS = value_list(
    text(size_max=COMMAND_WORD_SIZE_MAX), count_max=COMMAND_WORDS_MAX, fix='write it like [words, "10"]'
)
CONF_KEY = text(r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", size_max=256, rule="a setting like spark.task.maxFailures")
CONF_VALUE = text(size_max=CONF_SIZE_MAX, secret=True)
CONF = mapping(CONF_KEY, CONF_VALUE, count_max=CONF_MAX)
_FILES = value_list(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list")
_COORDINATES = value_list(text(size_max=PATH_SIZE_MAX), count_max=DEPENDENCIES_MAX, fix="put it in a list")


def ignored_fields(reasons: dict[str, str]) -> dict[str, Field]:
    return {name: any_value().about(f"not used: {reason}") for name, reason in reasons.items()}


DRIVER = Section(
    "the driver, which runs outside the slots",
    {
        "cores": integer(1, CORES_MAX).about("cores that it requests; coreRequest is more precise"),
        "coreRequest": amount(CPU, 1, CORES_MAX * 1000).about("CPU that it requests, like 500m"),
        "memory": _jvm_memory().about("heap size; it requests the heap plus memoryOverhead"),
        "memoryOverhead": _jvm_memory().about("memory that it requests in addition to the heap"),
        "javaOptions": text(size_max=CONF_SIZE_MAX).about("options of the driver's JVM"),
        "env": VARIABLES.about("environment variables of the driver, as {name, value}"),
        "envVars": ENVIRONMENT.about("environment variables of the driver"),
        **ignored_fields(IGNORED_DRIVER_FIELDS),
    },
)
EXECUTOR = Section(
    "the executors, one in each slot",
    {
        "cores": integer(1, CORES_MAX).about(
            "tasks that an executor runs at once; default: the whole cores of its slot"
        ),
        "javaOptions": text(size_max=CONF_SIZE_MAX).about("options of the executors' JVMs"),
        "env": VARIABLES.about("environment variables of the executors, as {name, value}"),
        "envVars": ENVIRONMENT.about("environment variables of the executors"),
        **ignored_fields(IGNORED_EXECUTOR_FIELDS),
    },
)
DEPENDENCIES = Section(
    "dependencies of the application",
    {
        "jars": _FILES.about("jars on the nodes"),
        "files": _FILES.about("files on the driver's node, copied to every executor"),
        "pyFiles": _FILES.about(".py and .zip files on the driver's node, copied to every executor"),
        "archives": _FILES.about("archives on the driver's node, unpacked for every executor"),
        "packages": _COORDINATES.about("Maven coordinates, downloaded by the driver's node"),
        "excludePackages": _COORDINATES,
        "repositories": _COORDINATES.about("additional repositories for packages"),
    },
)
RESTART_POLICY = Section(
    "only Never has an effect: a run of a BatchJob is one attempt",
    {
        "type": choice("Never", "OnFailure", "Always"),
        "onFailureRetries": integer(0, 10_000),
        "onFailureRetryInterval": integer(0, 10_000_000),
        "onSubmissionFailureRetries": integer(0, 10_000),
        "onSubmissionFailureRetryInterval": integer(0, 10_000_000),
    },
)
SPARK = Section(
    "an Apache Spark application",
    {
        "type": _kind(),
        "mode": choice("cluster", "client").about(
            "client has no effect: the driver always runs on a node of the cluster"
        ),
        "mainClass": CLASS.about("main class of a Scala or Java application"),
        "mainApplicationFile": Field(FILE.read, FILE.schema, required=True).about("path of its jar or Python file"),
        "arguments": ARGUMENTS,
        "sparkConf": CONF.about("Spark settings; Shunter reports those that it sets itself"),
        "hadoopConf": CONF.about("settings of the Hadoop libraries"),
        "deps": DEPENDENCIES.as_field(default={}),
        "driver": DRIVER.as_field(default={}),
        "executor": EXECUTOR.as_field(default={}),
        "restartPolicy": RESTART_POLICY.as_field(default={}),
        **ignored_fields(IGNORED_SPARK_FIELDS),
    },
)
