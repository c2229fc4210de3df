"""Tables of the manifest fields that define what a worker runs: the command, its environment, containers, ports, health
checks. `model.job.job_fields` assembles them."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from typing import Any

from shunter.model.job.spec import PORT_PREFIX, Container, HealthCheck, TaskSpec
from shunter.model.resources import AMOUNT_MAX, CPU, DISK, MEMORY, STANDARD
from shunter.model.schema.field_lists import command_words, mapping, section_list, value_list
from shunter.model.schema.fields import Field, Schema, Section, amount, boolean, choice, duration, integer, text
from shunter.model.schema.name_fields import NAME, NAME_SIZE_MAX
from shunter.model.schema.problems import DISPLAY_CHARS_MAX, Problems, did_you_mean

COMMAND_WORDS_MAX = 4096
COMMAND_WORD_SIZE_MAX = 128 * 2**10 - 1  # the kernel's limit of one argument, its closing NUL left out
ENV_ENTRIES_MAX = 256
ENV_NAME_SIZE_MAX = 127
ENV_VALUE_SIZE_MAX = 32 * 2**10
ARGUMENTS_SIZE_MAX = 2**20  # command and env together; kernels take about twice this
PATH_SIZE_MAX = 4095
STDIN_BYTES_MAX = 2**20
RESOURCES_MAX = 32
STOP_GRACE_MAX_S = 3600.0
LOG_SIZE_MIN = 4 * 2**10
LOG_SIZE_MAX = 16 * 2**30
IMAGE_SIZE_MAX = 512
CAPABILITIES_MAX = 64
PIDS_MAX = 2**22  # the kernel's greatest pid
MOUNTS_MAX = 64
PORTS_MAX = 64
PORT_MAX = 65535
UID_MAX = 2**32 - 2
HEALTH_CHECKS_MAX = 16
HEALTH_INTERVAL_MAX_S = 86400.0
HEALTH_FAILURES_MAX = 1000
HEALTH_OPTIONS_MAX = 32

ENV_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_.-]{0,126}$"
RESOURCE_PATTERN = rf"^(?!{PORT_PREFIX})[a-z]([a-z0-9._/-]{{0,61}}[a-z0-9])?$"
ENV_NAME_RULE = "letters, digits, '_', '.' and '-', not a digit first"
SECRETS_MAX = 16  # of one task
SECRET_FILE_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$"
SECRET_FILE_RULE = "letters, digits, '.', '_' and '-', not starting with '.' or '-'"
PATH_PATTERN = r"^/[^\u0000]*$"
LOG_PATH_PATTERN = r"^([^%\u0000]|%[jgia%])+$"
IMAGE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$"
SOURCE_PATTERN = r"^(/[^\u0000]*|[A-Za-z0-9][A-Za-z0-9_.-]*)$"
USER_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$"
STANDARD_CUTOFF = 0.8  # a custom resource whose name is more similar than this to a standard one counts as a typo
STANDARD_ALIASES = {"mem": MEMORY, "ram": MEMORY, "cpus": CPU, "cores": CPU}  # usual in other systems
MEMORY_MIN_BYTES = 2**20  # a smaller number was probably meant in another unit; 0 means no limit
ENV_RESERVED = frozenset(
    f"SHUNTER_{word}"
    for word in (
        *(
            "JOB",
            "NAMESPACE",
            "LANE",
            "MARK",
            "GROUP",
            "TASK_INDEX",
            "TASK_COUNT",
            "ATTEMPT",
            "NODE",
            "ENTRY",
            "PAYLOAD",
            "SECRETS",
            "DEVICES",
        ),
        *("ADDRESS", "BATCHJOB", "SCHEDULING", "SLOT_ID", "TESTBED"),  # of applications
    )
)
ENV_RESERVED_PREFIXES = (
    *("SHUNTER_PARAM_", "SHUNTER_PORT_", "SHUNTER_DEVICES_"),
    *("SHUNTER_DRIVER_", "SHUNTER_EXECUTOR_", "SHUNTER_FRAMEWORK_"),
)


def is_reserved_variable(name: str) -> bool:
    """Whether Shunter sets it itself, for tasks or applications. All others are the user's, whatever they begin with:
    SHUNTER_URL and SHUNTER_TOKEN are for tasks that drive a cluster, SHUNTER_SIM_DURATION is for simulated ones."""
    return name in ENV_RESERVED or name.startswith(ENV_RESERVED_PREFIXES)


_TASK = TaskSpec(command=())
_CONTAINER = Container(image="")
_HEALTH = HealthCheck(kind="tcp")


def _resources(memory_min_bytes: int = 0) -> Field:
    """cpu, memory and disk, and any countable resource that nodes declare."""
    standard = {name: amount(name, 0, AMOUNT_MAX) for name in STANDARD}
    custom = integer(0, AMOUNT_MAX)
    rule = f"a lower-case name like gpu ({PORT_PREFIX}… is reserved for ports)"
    custom_name = text(RESOURCE_PATTERN, size_max=NAME_SIZE_MAX, rule=rule)

    def read(value: Any, path: str, problems: Problems) -> dict[str, int]:
        if type(value) is not dict or len(value) > RESOURCES_MAX:
            fault = f"must be a mapping of at most {RESOURCES_MAX} resources"
            problems.add(path, fault, value=value, fix="write it like {cpu: 500m, memory: 256Mi}")
            return {}
        amounts = {}
        for name, item in value.items():
            resource_path = f"{path}.{str(name)[:DISPLAY_CHARS_MAX]}"
            known = standard.get(name)
            if known is not None:
                amounts[name] = known.read(item, resource_path, problems)
                if name == MEMORY and 0 < amounts[name] < memory_min_bytes:
                    problems.add(
                        resource_path, "must be 0 or at least 1Mi", value=item, fix=_memory_hint(item, amounts[name])
                    )
            elif fix := _standard_name(str(name)):
                problems.add(resource_path, "unknown resource", fix=fix)
            else:
                custom_name.read(name, resource_path, problems)
                amounts[name] = custom.read(item, resource_path, problems)
        return amounts

    schema: Schema = {
        "type": "object",
        "description": "resources of one task; any other name is a countable resource that nodes declare, like gpu",
        "properties": {name: field.schema for name, field in standard.items()},
        "propertyNames": custom_name.schema,
        "additionalProperties": custom.schema,
        "maxProperties": RESOURCES_MAX,
    }
    return Field(read, schema, {})


def _standard_name(name: str) -> str | None:
    if name in STANDARD_ALIASES:
        return f"did you mean {STANDARD_ALIASES[name]}?"
    return did_you_mean(name, STANDARD, STANDARD_CUTOFF)


def _memory_hint(value: object, found: int) -> str:
    """The usual mistake is a plain number, because other systems count mebibytes."""
    is_number = str(value).strip() == str(found)
    return f"{found} means {found} bytes; did you mean {found}Mi?" if is_number else "write it like 256Mi or 4Gi"


def _base64(size_max: int) -> Field:
    """Bytes, written in base64."""

    def read(value: Any, path: str, problems: Problems) -> bytes | None:
        try:
            data = b64decode(value, validate=True) if type(value) is str else None
        except ValueError:
            data = None
        if data is None:
            problems.add(path, "must be text in base64", fix="encode it, for example with the command base64")
        elif len(data) > size_max:
            fix = "put the data into a file that the nodes can read"
            problems.add(path, f"must be at most {size_max:,} bytes", value=len(data), fix=fix)
        return data

    encoded_size_max = (size_max + 2) // 3 * 4
    return Field(read, {"type": "string", "contentEncoding": "base64", "maxLength": encoded_size_max})


def _user() -> Field:
    named = text(USER_PATTERN, size_max=65, rule="a user name or number, optionally with :GROUP")
    numbered = integer(0, UID_MAX)

    def read(value: Any, path: str, problems: Problems) -> str:
        return str((numbered if type(value) in (int, float) else named).read(value, path, problems))

    return Field(read, {"anyOf": [named.schema, numbered.schema]})


def _port() -> Field:
    """The name of one of the task's ports, or a number."""
    numbered = integer(1, PORT_MAX)

    def read(value: Any, path: str, problems: Problems) -> str:
        return str((numbered if type(value) in (int, float) else NAME).read(value, path, problems))

    return Field(read, {"anyOf": [NAME.schema, numbered.schema]}, "")


RESOURCES = _resources()
TASK_RESOURCES = _resources(MEMORY_MIN_BYTES)

MOUNT = Section(
    "a directory or volume of the node, mounted into the container",
    {
        "source": text(SOURCE_PATTERN, size_max=PATH_SIZE_MAX, rule="an absolute path, or a volume", required=True),
        "target": text(PATH_PATTERN, size_max=PATH_SIZE_MAX, rule="an absolute path", required=True),
        "read_only": boolean(default=False),
    },
)

PORT = Section(
    "a port that the task listens on; SHUNTER_PORT_<NAME> has its number",
    {
        "name": replace(NAME, required=True),
        "port": integer(1, PORT_MAX).about("the port inside the container"),
        "host_port": integer(1, PORT_MAX, default=0).about("the port of the node; default: a free port"),
    },
)

SECRET = Section(
    "a secret of the namespace that the task gets: as the variable env, or as the file of this name in SHUNTER_SECRETS",
    {
        "name": replace(NAME, required=True),
        "env": text(ENV_NAME_PATTERN, size_max=ENV_NAME_SIZE_MAX, rule=ENV_NAME_RULE, default="").about(
            "name of the variable"
        ),
        "file": text(SECRET_FILE_PATTERN, size_max=NAME_SIZE_MAX, rule=SECRET_FILE_RULE, default="").about(
            "name of the file"
        ),
    },
)

COMMAND_FIX = 'write it as a list, like [echo, hello] or [sh, -c, "echo hello | wc"]'
_COMMAND_WORDS = command_words(
    text(size_max=COMMAND_WORD_SIZE_MAX), count_min=1, count_max=COMMAND_WORDS_MAX, fix=COMMAND_FIX
)

HEALTH = Section(
    "health check of a task: exactly one of http, tcp, command and plugin",
    {
        "http": text(r"^/[^\u0000\s]*$", size_max=PATH_SIZE_MAX, rule="a path like /health").about(
            "path of a GET request; the task is healthy if the status is 2xx or 3xx"
        ),
        "tcp": _port().about("name or number of a port that must accept a connection"),
        "command": _COMMAND_WORDS.about("a command that runs next to the task and must exit with 0"),
        "plugin": NAME.about("name of a health check that a plugin provides"),
        "port": _port().about("for http: name or number of the port; optional if the task has only one"),
        "options": mapping(NAME, text(size_max=ENV_VALUE_SIZE_MAX), count_max=HEALTH_OPTIONS_MAX).about(
            "options of the plugin"
        ),
        "interval": duration(HEALTH_INTERVAL_MAX_S, default=_HEALTH.interval_s),
        "timeout": duration(HEALTH_INTERVAL_MAX_S, default=_HEALTH.timeout_s),
        "failures": integer(1, HEALTH_FAILURES_MAX, default=_HEALTH.failures).about(
            "consecutive failures after which the attempt ends and the restart policy applies"
        ),
        "start_grace": duration(HEALTH_INTERVAL_MAX_S, default=_HEALTH.start_grace_s).about(
            "failures during this time after the start do not count"
        ),
    },
)

_SECRET_FIELD = SECRET.as_field()
SECRET_FIELD = replace(
    _SECRET_FIELD, schema=_SECRET_FIELD.schema | {"oneOf": [{"required": ["env"]}, {"required": ["file"]}]}
)
_HEALTH_FIELD = HEALTH.as_field()
_ONE_KIND = [{"required": [kind]} for kind in ("http", "tcp", "command", "plugin")]
HEALTH_FIELD = replace(_HEALTH_FIELD, schema=_HEALTH_FIELD.schema | {"oneOf": _ONE_KIND})

_LOG_PATH = text(
    LOG_PATH_PATTERN,
    size_max=PATH_SIZE_MAX,
    rule="a path, with %j %g %i %a for job, group, index and attempt, and %% for %",
)

TASK_FIELDS: dict[str, Field] = {
    "command": _COMMAND_WORDS.about("program and arguments, as a list; replaces the entry point of an image"),
    "image": text(IMAGE_PATTERN, size_max=IMAGE_SIZE_MAX, rule="an image like busybox or example.org/team/app:1.2"),
    "args": value_list(text(size_max=COMMAND_WORD_SIZE_MAX), count_max=COMMAND_WORDS_MAX, fix=COMMAND_FIX).about(
        "arguments for the command or the entry point of the image"
    ),
    "runtime": NAME.about("process, docker (default if image is set), or the name of a plugin runtime"),
    "env": mapping(
        text(ENV_NAME_PATTERN, size_max=ENV_NAME_SIZE_MAX, rule=ENV_NAME_RULE),
        text(size_max=ENV_VALUE_SIZE_MAX, secret=True),
        count_max=ENV_ENTRIES_MAX,
    ).about("environment variables of the task; quote numbers"),
    "secrets": section_list(SECRET_FIELD, count_max=SECRETS_MAX).about("secrets that the task gets"),
    "dir": text(PATH_PATTERN, size_max=PATH_SIZE_MAX, rule="an absolute path").about(
        "working directory, an absolute path; default: a temporary directory that is deleted with the task"
    ),
    "resources": TASK_RESOURCES,
    "stop_grace": duration(STOP_GRACE_MAX_S, default=_TASK.stop_grace_s).about(
        "time between the stop signal and SIGKILL"
    ),
    "log_max": amount(DISK, LOG_SIZE_MIN, LOG_SIZE_MAX, default=_TASK.log_max_bytes).about(
        "maximum stored size of each output stream"
    ),
    "stdin": _base64(STDIN_BYTES_MAX).about("what each task reads from standard input, in base64; processes only"),
    "stdout": _LOG_PATH,
    "stderr": _LOG_PATH,
    "user": _user().about("user that runs the task: name or number, optionally with :GROUP"),
    "mounts": section_list(MOUNT.as_field(), count_max=MOUNTS_MAX).about(
        "directories and volumes that are mounted into the container"
    ),
    "ports": section_list(PORT.as_field(), count_max=PORTS_MAX).about("ports that the task listens on"),
    "health": section_list(HEALTH_FIELD, count_max=HEALTH_CHECKS_MAX).about("health checks of the task"),
    "network": NAME.about("network of the container: bridge (default), host, none, or the name of a network"),
    "cap_add": value_list(
        text(r"^(CAP_)?[A-Z]+(_[A-Z]+)*$", size_max=64, rule="a capability like NET_BIND_SERVICE"),
        count_max=CAPABILITIES_MAX,
        fix="put it in a list",
    ).about("Linux capabilities of the container; all others are dropped"),
    "pids_max": integer(1, PIDS_MAX, default=_CONTAINER.pids_max).about("maximum number of processes in the container"),
    "pull": choice("missing", "always", "never", default=_CONTAINER.pull).about("when to pull the image"),
    "read_only": boolean(default=False).about("make the root file system of the container read-only"),
}
# Fields that say something about a container only.
CONTAINER_FIELDS = ("args", "network", "cap_add", "pids_max", "pull", "read_only", "mounts")
