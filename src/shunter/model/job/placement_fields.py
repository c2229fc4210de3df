"""Tables of the manifest fields that define how many tasks a group has, where and when they may run, and what happens
when they end. `model.job.job_fields` assembles them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shunter.model.job import arrays
from shunter.model.job.isolation import CONTAINER, NAMESPACE, USER
from shunter.model.job.spec import COUNT_MAX, Affinity, Restart, Spread, Update
from shunter.model.schema.field_lists import section_list, shorthand, value_list
from shunter.model.schema.fields import Field, Schema, Section, boolean, choice, duration, integer, number, text
from shunter.model.schema.name_fields import LABEL_KEY, NAME
from shunter.model.schema.problems import Problems

DATACENTERS_MAX = 64
CONSTRAINTS_MAX = 32
CONSTRAINT_SIZE_MAX = 2000
RESTARTS_MAX = 1_000_000
RESTART_DELAY_MAX_S = 7 * 86400.0
EXIT_RULES_MAX = 32
EXIT_CODE_MAX = 255
TIMEOUT_MAX_S = 366 * 86400.0
SPREADS_MAX = 8
AFFINITIES_MAX = 32
WEIGHT_MAX = 1000.0
UNLIMITED = "unlimited"

_RESTART, _UPDATE = Restart(), Update()


def _restarts_max() -> Field:
    count = integer(0, RESTARTS_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        return UNLIMITED if value == UNLIMITED else count.read(value, path, problems)

    return Field(read, {"anyOf": [count.schema, {"const": UNLIMITED}]})


def _exit_codes() -> Field:
    code = integer(0, EXIT_CODE_MAX)
    listed = section_list(code, count_min=1, count_max=EXIT_CODE_MAX + 1)
    return replace(listed, required=True)


EXIT_RULE = Section(
    "what to do on an exit code; the first rule that names the code overrides the policy",
    {"codes": _exit_codes(), "action": choice("fail", "restart", "succeed", required=True)},
)

RESTART = Section(
    "when and how often a task that failed runs again",
    {
        "policy": choice("never", "on-failure", "always", "unless-stopped"),
        "max": _restarts_max(),
        "delay": duration(RESTART_DELAY_MAX_S, default=_RESTART.delay_s),
        "factor": number(1, 100, default=_RESTART.factor),
        "delay_max": duration(RESTART_DELAY_MAX_S),  # by default a minute, or delay if that is longer
        "jitter": number(0, 1, default=_RESTART.jitter),
        "on_exit": section_list(EXIT_RULE.as_field(), count_max=EXIT_RULES_MAX),
        "elsewhere": boolean(default=_RESTART.elsewhere).about(
            "avoid the node of the last attempt if another node is feasible"
        ),
    },
)

UPDATE = Section(
    "rolling update to a new version: some tasks at a time, the next ones when these are healthy",
    {
        "parallel": integer(1, COUNT_MAX, default=_UPDATE.parallel).about("tasks that are replaced at a time"),
        "unavailable_max": integer(0, COUNT_MAX, default=_UPDATE.unavailable_max).about(
            "old tasks that may stop before their replacements are healthy; 0 starts the replacement first"
        ),
        "healthy_for": duration(TIMEOUT_MAX_S, default=_UPDATE.healthy_for_s),
        "deadline": duration(TIMEOUT_MAX_S, default=_UPDATE.deadline_s).about(
            "time that a task has to become healthy after it was ordered"
        ),
        "rollback": boolean(default=_UPDATE.rollback),
    },
)

DISCONNECT = Section(
    "what happens to tasks on a node that the manager cannot reach",
    {
        "replace_after": duration(TIMEOUT_MAX_S, default=0.0).about(
            "time after its node went down until a task runs on another node"
        ),
        "stop_after": duration(TIMEOUT_MAX_S, default=0.0).about(
            "time without contact with the manager after which the worker stops the task, at least 10s; 0 means never"
        ),
    },
)


def _distinct() -> Field:
    def read(value: Any, path: str, problems: Problems) -> Any:
        if value in ("node", "nodes", "hosts", "machine"):
            problems.add(path, "is not a node label", value=value, fix="to spread over machines write `distinct: host`")
        return LABEL_KEY.read(value, path, problems)

    return replace(LABEL_KEY, read=read, default="")


SPREAD = Section(
    "spread tasks evenly across the values of a node label",
    {"label": replace(LABEL_KEY, required=True), "weight": number(0, WEIGHT_MAX, default=Spread("").weight)},
)

EXPRESSION = text(size_max=CONSTRAINT_SIZE_MAX)
AFFINITY = Section(
    "prefer, or require, nodes where match is true",
    {
        "to": choice("node", "job", required=True).about(
            "whether match is evaluated on the node or on the jobs that run there"
        ),
        "match": replace(EXPRESSION, required=True).about("a CEL expression, like node.labels.disk == 'ssd'"),
        "require": boolean(default=False).about("require it instead of preferring it"),
        "weight": number(0, WEIGHT_MAX, default=Affinity("", "").weight),
        "anti": boolean(default=False).about("prefer, or require, nodes where match is false"),
    },
)


def _array() -> Field:
    """`1-100:2`, or a list of indexes; stored as ranges."""
    item = integer(0, arrays.INDEX_MAX)

    def read(value: Any, path: str, problems: Problems) -> tuple[arrays.IndexRange, ...]:
        found = len(problems.found)
        if type(value) is list and 0 < len(value) <= COUNT_MAX:
            value = [item.read(index, f"{path}[{number_}]", problems) for number_, index in enumerate(value)]
        elif type(value) is not str:
            problems.add(path, "must be text like 1-100:2, or a list of indexes", value=value)
        elif "%" in value:
            problems.add(path, "must not contain a % limit", value=value, fix="set the number after % as parallel_max")
        if len(problems.found) > found:
            return ()
        try:
            return arrays.compress_indexes(value) if type(value) is list else arrays.parse_array(value).parts
        except ValueError as error:
            problems.add(path, str(error), value=value)
            return ()

    text_schema: Schema = {"type": "string", "pattern": arrays.PATTERN, "maxLength": arrays.TEXT_SIZE_MAX}
    listed: Schema = {"type": "array", "items": item.schema, "minItems": 1, "maxItems": COUNT_MAX}
    return Field(read, {"anyOf": [text_schema, listed]}, ())


def timeout(*names: str) -> Field:
    """Durations by what they limit; a plain duration limits the run. Only given ones are stored."""
    about = "time limits: in the queue, of an attempt, and of the whole job; 0 means no limit"
    table = Section(about, {name: duration(TIMEOUT_MAX_S, default=0.0) for name in names})
    bare = duration(TIMEOUT_MAX_S)

    def read(value: Any, path: str, problems: Problems) -> dict[str, float]:
        if type(value) is dict:
            return table.read_partial(value, path, problems)
        return {"run": bare.read(value, path, problems)}

    return Field(read, {"description": about, "anyOf": [bare.schema, table.schema]}, {})


PLACEMENT_FIELDS: dict[str, Field] = {
    "count": integer(1, COUNT_MAX).about("number of tasks; default: 1, or the number of array indexes or entries"),
    "array": _array().about("values of SHUNTER_TASK_INDEX: text like 1-100:2 or 1-3,7, or a list"),
    "entries": value_list(
        text(size_max=arrays.ENTRY_SIZE_MAX), count_min=1, count_max=arrays.ENTRIES_MAX, fix="put it in a list"
    ).about("one text per task, passed as SHUNTER_ENTRY"),
    "restart": RESTART.as_partial_field(),
    "timeout": timeout("queue", "run"),
    "datacenters": value_list(NAME, count_max=DATACENTERS_MAX, fix="put it in a list").about(
        "only nodes in one of these datacenters"
    ),
    "constraints": value_list(EXPRESSION, count_max=CONSTRAINTS_MAX, fix="put it in a list").about(
        "only nodes for which all of these CEL expressions are true, like node.labels.disk == 'ssd'"
    ),
    "isolation": choice(USER, NAMESPACE, CONTAINER).about(
        "only nodes that keep tasks from the cluster's secrets at least this way"
    ),
    "parallel_max": integer(1, COUNT_MAX, default=0).about("maximum number of tasks of the group that run at once"),
    "gang": boolean(default=False).about("start all tasks together or none"),
    "exclusive": boolean(default=False).about("run on nodes that no other job uses at the same time"),
    "distinct": _distinct().about(
        "host or a node label: no two tasks of the group run on the same host, or on nodes with the same label value"
    ),
    "spread": section_list(shorthand(SPREAD, "label"), count_max=SPREADS_MAX).about(
        "spread tasks evenly across the values of these node labels"
    ),
    "affinity": section_list(AFFINITY.as_field(), count_max=AFFINITIES_MAX).about(
        "nodes, or jobs on the same node, to prefer, require or avoid"
    ),
    "estimate": duration(TIMEOUT_MAX_S, default=0.0).about(
        "expected run time of a task, for backfill and start estimates"
    ),
    "update": UPDATE.as_partial_field(),
    "disconnect": DISCONNECT.as_partial_field(),
    "at_most_once": boolean(default=False).about(
        "never run two attempts of a task at once: replace a task only when its old attempt is known to have ended"
    ),
}
