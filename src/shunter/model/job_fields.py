"""The fields of a Job manifest, as tables. `model.manifests` reads documents by them and publishes their schema.

Everything has a limit with a name. Fields of the design that this version lacks are listed as `later`, so that their
refusal says so.
"""

from __future__ import annotations

from typing import Any

from shunter.model.fields import Field, Schema, Section, amount, choice, duration, mapping, number, text, texts, whole
from shunter.model.jobs import COUNT_MAX, PRIORITY_DEFAULT, Restart, TaskSpec
from shunter.model.problems import SHOWN_MAX, Problems, nearest
from shunter.model.resources import AMOUNT_MAX, DISK, STANDARD

API_VERSION = "shunter.dev/v1"

NAME_SIZE_MAX = 63
LABELS_MAX = 64
LABEL_KEY_SIZE_MAX = 128
LABEL_VALUE_SIZE_MAX = 256
COMMAND_WORDS_MAX = 4096
COMMAND_WORD_SIZE_MAX = 128 * 2**10 - 1  # the kernel's limit of one argument, its closing NUL left out
ENV_ENTRIES_MAX = 256
ENV_NAME_SIZE_MAX = 127
ENV_VALUE_SIZE_MAX = 32 * 2**10
ARGUMENTS_SIZE_MAX = 2**20  # command and env together; kernels take about twice this
DIR_SIZE_MAX = 4095
RESOURCES_MAX = 32
DATACENTERS_MAX = 64
CONSTRAINTS_MAX = 32
CONSTRAINT_SIZE_MAX = 4096
RESTARTS_MAX = 1_000_000
RESTART_DELAY_MAX_S = 7 * 86400.0
TIMEOUT_MAX_S = 366 * 86400.0
STOP_GRACE_MAX_S = 3600.0
LOG_SIZE_MIN = 4 * 2**10
LOG_SIZE_MAX = 16 * 2**30

NAME_PATTERN = r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$"
NAME_RULE = "lower-case letters, digits, '.', '_' and '-', beginning and ending with a letter or digit"
LABEL_KEY_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?$"
LABEL_KEY_RULE = "letters, digits, '.', '_', '/' and '-', beginning and ending with a letter or digit"
LABEL_VALUE_PATTERN = r"^[^\u0000-\u001f\u007f]*$"
ENV_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_.-]{0,126}$"
RESOURCE_PATTERN = r"^[a-z]([a-z0-9._/-]{0,61}[a-z0-9])?$"
STANDARD_CUTOFF = 0.8  # a custom resource spelt nearer than this to a standard one is taken for a slip of the pen
UNLIMITED = "unlimited"
ENV_RESERVED = frozenset(f"SHUNTER_{word}" for word in ("JOB", "GROUP", "TASK_INDEX", "TASK_COUNT", "ATTEMPT", "NODE"))

NAME = text(NAME_PATTERN, size_max=NAME_SIZE_MAX, what=NAME_RULE)
LABELS = mapping(
    text(LABEL_KEY_PATTERN, size_max=LABEL_KEY_SIZE_MAX, what=LABEL_KEY_RULE),
    text(LABEL_VALUE_PATTERN, size_max=LABEL_VALUE_SIZE_MAX, what="text without control characters"),
    count_max=LABELS_MAX,
)
ENV = mapping(
    text(ENV_NAME_PATTERN, size_max=ENV_NAME_SIZE_MAX, what="letters, digits, '_', '.' and '-', not a digit first"),
    text(size_max=ENV_VALUE_SIZE_MAX, secret=True),
    count_max=ENV_ENTRIES_MAX,
)
COMMAND = texts(
    text(size_max=COMMAND_WORD_SIZE_MAX),
    count_min=1,
    count_max=COMMAND_WORDS_MAX,
    fix='write it as words, like [echo, hello] or [sh, -c, "echo hello | wc"]',
    required=True,
)
CONSTRAINTS = texts(text(size_max=CONSTRAINT_SIZE_MAX), count_max=CONSTRAINTS_MAX, fix="put it in a list")


def _resources() -> Field:
    """cpu, memory and disk, and any countable that nodes declare."""
    standard = {name: amount(name, 0, AMOUNT_MAX) for name in STANDARD}
    custom = whole(0, AMOUNT_MAX)
    custom_name = text(RESOURCE_PATTERN, size_max=NAME_SIZE_MAX, what="a lower-case name like gpu")

    def read(value: Any, path: str, problems: Problems) -> dict[str, int]:
        if type(value) is not dict or len(value) > RESOURCES_MAX:
            fault = f"must be a mapping of at most {RESOURCES_MAX} resources"
            problems.add(path, fault, value=value, fix="write it like {cpu: 500m, memory: 256Mi}")
            return {}
        amounts = {}
        for name, item in value.items():
            at = f"{path}.{str(name)[:SHOWN_MAX]}"
            known = standard.get(name)
            if known is not None:
                amounts[name] = known.read(item, at, problems)
            elif fix := nearest(str(name), STANDARD, STANDARD_CUTOFF):
                problems.add(at, "unknown resource", fix=fix)
            else:
                custom_name.read(name, at, problems)
                amounts[name] = custom.read(item, at, problems)
        return amounts

    schema: Schema = {
        "type": "object",
        "description": "what one task needs; any other name is a countable that nodes declare, like gpu",
        "properties": {name: field.schema for name, field in standard.items()},
        "propertyNames": custom_name.schema,
        "additionalProperties": custom.schema,
        "maxProperties": RESOURCES_MAX,
    }
    return Field(read, schema, {})


RESOURCES = _resources()


def _restarts_max() -> Field:
    count = whole(0, RESTARTS_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        return UNLIMITED if value == UNLIMITED else count.read(value, path, problems)

    return Field(read, {"anyOf": [count.schema, {"const": UNLIMITED}]})


def _timeout() -> Field:
    table = Section(
        "how long a task may wait and run; 0 means without limit",
        {"queue": duration(TIMEOUT_MAX_S, default=0.0), "run": duration(TIMEOUT_MAX_S, default=0.0)},
        later=("job",),
    )
    bare = duration(TIMEOUT_MAX_S)

    def read(value: Any, path: str, problems: Problems) -> dict[str, float]:
        if type(value) is dict:
            return table.read(value, path, problems)
        return {"queue": 0.0, "run": bare.read(value, path, problems)}

    return Field(read, {"anyOf": [bare.schema, table.schema]}, {"queue": 0.0, "run": 0.0})


_RESTART = Restart()
RESTART = Section(
    "when a task that ended with an exit code runs again",
    {
        "policy": choice("never", "on-failure", "always", "unless-stopped", required=True),
        "max": _restarts_max(),
        "delay": duration(RESTART_DELAY_MAX_S, default=_RESTART.delay_s),
        "factor": number(1, 100, default=_RESTART.factor),
        "delay_max": duration(RESTART_DELAY_MAX_S),  # by default a minute, or delay if that is longer
        "jitter": number(0, 1, default=_RESTART.jitter),
    },
    later=("on_exit", "elsewhere"),
)

_TASK = TaskSpec(command=())
SPEC = Section(
    "what to run, how often, and where",
    {
        "type": choice("batch", later=("service", "system", "sysbatch"), default="batch"),
        "count": whole(1, COUNT_MAX, default=1),
        "command": COMMAND,
        "env": ENV,
        "dir": text(r"^/[^\u0000]*$", size_max=DIR_SIZE_MAX, what="an absolute path"),
        "resources": RESOURCES,
        "restart": RESTART.as_field(),
        "timeout": _timeout(),
        "priority": whole(0, 100, default=PRIORITY_DEFAULT),
        "datacenters": texts(NAME, count_max=DATACENTERS_MAX, fix="put it in a list"),
        "constraints": CONSTRAINTS,
        "stop_grace": duration(STOP_GRACE_MAX_S, default=_TASK.stop_grace_s),
        "log_max": amount(DISK, LOG_SIZE_MIN, LOG_SIZE_MAX, default=_TASK.log_max_bytes),
    },
    later=(
        *("image", "args", "groups", "after", "schedule", "start_at", "deadline", "queue", "parallel_max"),
        *("failures_max", "gang", "exclusive", "distinct", "spread", "affinity", "ports", "mounts", "user"),
        *("health", "update", "parameters"),
    ),
)

METADATA = Section("who the job is", {"name": NAME, "namespace": NAME, "labels": LABELS})

DOCUMENT = Section(
    "a job: tasks that are alike, run until all have ended",
    {
        "apiVersion": choice(API_VERSION, required=True),
        "kind": choice("Job", later=("Testbed", "BatchJob", "Scheduling"), required=True),
        "metadata": METADATA.as_field(default=METADATA.read({}, "", Problems())),
        "spec": SPEC.as_field(required=True),
    },
)
