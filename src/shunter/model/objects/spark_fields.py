"""The fields of `sparkSpec`, as tables: those that act on Shunter's workers, with their types, and those of a
SparkApplication that have no meaning there, with the reason. Read by `model.objects.application_fields`."""

from __future__ import annotations

from typing import Any

from shunter.model.job.task_fields import COMMAND_WORD_SIZE_MAX, COMMAND_WORDS_MAX, PATH_SIZE_MAX
from shunter.model.objects.environment_fields import ENVIRONMENT, VARIABLES
from shunter.model.resources import AMOUNT_MAX, CPU, MEMORY
from shunter.model.schema.field_lists import mapping, texts
from shunter.model.schema.fields import Field, Section, amount, anything, choice, text, whole
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

PODS = "there are no pods here: the application runs as processes of the nodes"
IMAGES = "there are no images here: the Spark that is installed on the nodes runs the application"
SLOT = "the slot says what an executor may use, and the Scheduling how many there are"
CLUSTER_OBJECTS = "there are no config maps, secrets or volumes here: programs see the files of their node"
ONCE = "a run of a BatchJob is one try; run it again with another Scheduling"
PLACES = "slots say where executors run, and the active policy where the driver runs"
ACCOUNTS = "the application runs as the user of the worker"

_POD = {
    "template": PODS,
    "coreLimit": "a driver or executor may use what it requests, not more",
    "memoryLimit": "a driver or executor may use what it requests, not more",
    "gpu": "slots have cpu and memory",
    "image": IMAGES,
    "configMaps": CLUSTER_OBJECTS,
    "secrets": CLUSTER_OBJECTS,
    "envFrom": CLUSTER_OBJECTS,
    "envSecretKeyRefs": CLUSTER_OBJECTS,
    "labels": PODS,
    "annotations": PODS,
    "volumeMounts": CLUSTER_OBJECTS,
    "affinity": PLACES,
    "tolerations": PLACES,
    "podSecurityContext": PODS,
    "securityContext": PODS,
    "schedulerName": PLACES,
    "sidecars": PODS,
    "initContainers": PODS,
    "hostNetwork": "processes always use the network of their node",
    "nodeSelector": PLACES,
    "dnsConfig": PODS,
    "terminationGracePeriodSeconds": PODS,
    "serviceAccount": ACCOUNTS,
    "hostAliases": PODS,
    "shareProcessNamespace": PODS,
    "priorityClassName": "priorities are those of jobs",
    "lifecycle": PODS,
    "ports": "the node chooses free ports",
}
DRIVER_NOT_HERE = _POD | {
    "podName": PODS,
    "kubernetesMaster": PODS,
    "serviceAnnotations": PODS,
    "serviceLabels": PODS,
}
EXECUTOR_NOT_HERE = _POD | {
    "coreRequest": SLOT,
    "memory": SLOT,
    "memoryOverhead": SLOT,
    "instances": SLOT,
    "deleteOnTermination": PODS,
}
SPARK_NOT_HERE = {
    "image": IMAGES,
    "imagePullPolicy": IMAGES,
    "imagePullSecrets": IMAGES,
    "sparkVersion": "the Spark that is installed on the nodes runs the application",
    "pythonVersion": "the Python of the installed Spark runs the application",
    "proxyUser": ACCOUNTS,
    "suspend": "a Scheduling starts the application",
    "sparkConfigMap": CLUSTER_OBJECTS,
    "hadoopConfigMap": CLUSTER_OBJECTS,
    "volumes": CLUSTER_OBJECTS,
    "nodeSelector": PLACES,
    "failureRetries": ONCE,
    "retryInterval": ONCE,
    "memoryOverheadFactor": "what a slot has is divided by its size",
    "monitoring": "measurements of a run are told by the cluster",
    "batchScheduler": PLACES,
    "batchSchedulerOptions": PLACES,
    "timeToLiveSeconds": "the history has limits of its own",
    "sparkUIOptions": PODS,
    "driverIngressOptions": PODS,
    "dynamicAllocation": SLOT,
}
CONF_NOT_HERE = {
    "spark.master": "every application has a master of its own",
    "spark.submit.deployMode": "the driver runs on a node of the cluster",
    "spark.app.name": "the application is called like its BatchJob",
    "spark.driver.host": "the node's own address is used",
    "spark.driver.bindAddress": "the node's own address is used",
    "spark.driver.port": "the node chooses free ports",
    "spark.driver.blockManager.port": "the node chooses free ports",
    "spark.ui.port": "the node chooses free ports",
    "spark.authenticate": "every run has a secret of its own, without which nobody is let in",
    "spark.authenticate.secret": "every run has a secret of its own, without which nobody is let in",
    "spark.driver.memory": "say it in sparkSpec.driver.memory",
    "spark.executor.memory": SLOT,
    "spark.executor.memoryOverhead": SLOT,
    "spark.executor.cores": "say it in sparkSpec.executor.cores",
    "spark.executor.instances": SLOT,
    "spark.cores.max": SLOT,
    "spark.dynamicAllocation.enabled": SLOT,
}


def _kind() -> Field:
    """Of R there is nothing on the nodes: neither the language nor Spark's part of it."""
    known = choice("Scala", "Java", "Python", required=True)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if value == "R":
            fix = "use Scala, Java or Python"
            problems.add(path, "Spark from PyPI comes without its R package, and Spark itself retires it", fix=fix)
            return value
        return known.read(value, path, problems)

    return Field(read, known.schema, required=True)


def _jvm_memory() -> Field:
    """Bytes, from Spark's way of writing them (`512m` is half a gibibyte) or a quantity (`512Mi`)."""
    quantity = amount(MEMORY, 2**20, AMOUNT_MAX)
    units = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}
    what = text(JVM_MEMORY_PATTERN, size_max=20)

    def read(value: Any, path: str, problems: Problems) -> int:
        if isinstance(value, str) and value.rstrip("b")[-1:] in units:
            bare = value.removesuffix("b")
            value = bare[:-1] + units[bare[-1]]
        found: int = quantity.read(value, path, problems)
        return found

    return Field(read, {"description": "memory like 512m or 1g", "anyOf": [what.schema, quantity.schema]})


FILE = text(FILE_PATTERN, size_max=PATH_SIZE_MAX, what=FILE_RULE)
CLASS = text(CLASS_PATTERN, size_max=NAME_SIZE_MAX, what="a class like org.example.Words")
ARGUMENTS = texts(text(size_max=COMMAND_WORD_SIZE_MAX), count_max=COMMAND_WORDS_MAX, fix='write it like [words, "10"]')
CONF_KEY = text(r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", size_max=256, what="a setting like spark.task.maxFailures")
CONF_VALUE = text(size_max=CONF_SIZE_MAX, secret=True)
CONF = mapping(CONF_KEY, CONF_VALUE, count_max=CONF_MAX)
_FILES = texts(FILE, count_max=DEPENDENCIES_MAX, fix="put it in a list")
_COORDINATES = texts(text(size_max=PATH_SIZE_MAX), count_max=DEPENDENCIES_MAX, fix="put it in a list")


def not_here(reasons: dict[str, str]) -> dict[str, Field]:
    return {name: anything().about(f"reported: {reason}") for name, reason in reasons.items()}


DRIVER = Section(
    "the driver, which runs outside the slots",
    {
        "cores": whole(1, CORES_MAX).about("cores that it requests; coreRequest is more exact"),
        "coreRequest": amount(CPU, 1, CORES_MAX * 1000).about("cpu that it requests, like 500m"),
        "memory": _jvm_memory().about("its heap; what it requests is that and what is beside a heap"),
        "memoryOverhead": _jvm_memory().about("what it requests beside the heap"),
        "javaOptions": text(size_max=CONF_SIZE_MAX).about("of the driver's virtual machine"),
        "env": VARIABLES.about("variables of the driver, as {name, value}"),
        "envVars": ENVIRONMENT.about("variables of the driver"),
        **not_here(DRIVER_NOT_HERE),
    },
)
EXECUTOR = Section(
    "the executors, one in each slot",
    {
        "cores": whole(1, CORES_MAX).about("tasks that an executor runs at once; without it the slot's whole cores"),
        "javaOptions": text(size_max=CONF_SIZE_MAX).about("of the executors' virtual machines"),
        "env": VARIABLES.about("variables of the executors, as {name, value}"),
        "envVars": ENVIRONMENT.about("variables of the executors"),
        **not_here(EXECUTOR_NOT_HERE),
    },
)
DEPENDENCIES = Section(
    "what the application needs beside its own file",
    {
        "jars": _FILES.about("jars on the nodes"),
        "files": _FILES.about("files on the driver's node, copied to every executor"),
        "pyFiles": _FILES.about(".py and .zip files on the driver's node, copied to every executor"),
        "archives": _FILES.about("archives on the driver's node, unpacked beside every executor"),
        "packages": _COORDINATES.about("Maven coordinates; the driver's node fetches them"),
        "excludePackages": _COORDINATES,
        "repositories": _COORDINATES.about("where else packages are looked for"),
    },
)
RESTART_POLICY = Section(
    "anything but Never is reported: a run of a BatchJob is one try",
    {
        "type": choice("Never", "OnFailure", "Always"),
        "onFailureRetries": whole(0, 10_000),
        "onFailureRetryInterval": whole(0, 10_000_000),
        "onSubmissionFailureRetries": whole(0, 10_000),
        "onSubmissionFailureRetryInterval": whole(0, 10_000_000),
    },
)
SPARK = Section(
    "an application of Apache Spark",
    {
        "type": _kind(),
        "mode": choice("cluster", "client").about(
            "the driver always runs on a node of the cluster: client is reported"
        ),
        "mainClass": CLASS.about("of a Scala or Java application"),
        "mainApplicationFile": Field(FILE.read, FILE.schema, required=True).about("its jar, or its Python file"),
        "arguments": ARGUMENTS,
        "sparkConf": CONF.about("settings of Spark; those that Shunter has to make itself are reported"),
        "hadoopConf": CONF.about("settings of Hadoop's libraries"),
        "deps": DEPENDENCIES.as_field(default={}),
        "driver": DRIVER.as_field(default={}),
        "executor": EXECUTOR.as_field(default={}),
        "restartPolicy": RESTART_POLICY.as_field(default={}),
        **not_here(SPARK_NOT_HERE),
    },
)
