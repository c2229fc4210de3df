"""The table of all fields of a Job manifest, assembled from the task, placement and timing fields.

`model.job.manifests` reads documents with it and publishes its schema. Everything has a named limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shunter.model.job.placement_fields import PLACEMENT_FIELDS, timeout
from shunter.model.job.spec import BATCH, COUNT_MAX, PRIORITY_DEFAULT, QUEUE_DEFAULT, SERVICE, SYSBATCH, SYSTEM
from shunter.model.job.task_fields import TASK_FIELDS
from shunter.model.job.timing_fields import GROUP_AFTER_FIELD, TIMING_FIELDS
from shunter.model.schema.field_lists import section_list
from shunter.model.schema.fields import Field, Schema, Section, boolean, choice, integer
from shunter.model.schema.name_fields import LABELS, NAME
from shunter.model.schema.problems import Problems

API_VERSION = "shunter.dev/v1"
GROUPS_MAX = 100
APPLIED_KINDS = ("Testbed", "BatchJob", "Scheduling")  # of `model.objects.objects`

TYPES = (BATCH, SERVICE, SYSTEM, SYSBATCH)
# Fields that only some types of job can have; all other fields are for every type.
FIELDS_BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "count": (BATCH, SERVICE),
    "array": (BATCH,),
    "entries": (BATCH,),
    "gang": (BATCH,),
    "parallel_max": (BATCH, SYSBATCH),
    "failures_max": (BATCH, SYSBATCH),
    "estimate": (BATCH, SYSBATCH),
    "deadline": (BATCH, SYSBATCH),
    "schedule": (BATCH, SYSBATCH),
    "parameters": (BATCH, SYSBATCH),
    "stdin": (BATCH, SYSBATCH),
    "distinct": (BATCH, SERVICE),
    "spread": (BATCH, SERVICE),
    "update": (SERVICE, SYSTEM),
    "at_most_once": (BATCH, SYSBATCH),
}

# What a job may say for all of its groups, and each group for itself.
INHERITED_FIELDS: dict[str, Field] = TASK_FIELDS | PLACEMENT_FIELDS

GROUP = Section(
    "a group of identical tasks; fields that it omits come from the job",
    {"name": replace(NAME, required=True), **INHERITED_FIELDS, "after": GROUP_AFTER_FIELD},
)


def _group() -> Field:
    """The fields of the group itself, without its name."""

    def read(value: Any, path: str, problems: Problems) -> dict[str, Any]:
        if type(value) is dict and "name" not in value:
            problems.add(f"{path}.name", "is missing", fix="add name")
        return GROUP.read_partial(value, path, problems)

    return Field(read, GROUP.schema)


SPEC = Section(
    "what to run, how many tasks, and where",
    {
        "type": choice(*TYPES, default=BATCH).about(
            "batch runs until all tasks have ended; service keeps count tasks running; system keeps one task on each "
            "node; sysbatch runs one task to completion on each node"
        ),
        **INHERITED_FIELDS,
        "timeout": timeout("queue", "run", "job"),
        "groups": section_list(_group(), count_min=1, count_max=GROUPS_MAX).about(
            "groups of identical tasks; fields that a group omits come from the job"
        ),
        "priority": integer(0, 100, default=PRIORITY_DEFAULT).about("jobs with a higher priority start first"),
        "queue": replace(NAME, default=QUEUE_DEFAULT).about("the queue of its tasks"),
        "failures_max": integer(1, COUNT_MAX, default=0).about(
            "the number of failed tasks that fails the job and stops its other tasks"
        ),
        "hold": boolean(default=False).about("hold the job until it is released"),
        **TIMING_FIELDS,
    },
)

METADATA = Section("name, namespace and labels of the job", {"name": NAME, "namespace": NAME, "labels": LABELS})


def _type_rules() -> list[Schema]:
    """ONLY_FOR as JSON Schema. A spec without a type is a batch job."""
    rules = []
    for each in TYPES:
        banned: dict[str, Any] = {name: False for name, types in FIELDS_BY_TYPE.items() if each not in types}
        groups = {"items": {"properties": {name: False for name in banned if name in INHERITED_FIELDS}}}
        rules.append(
            {
                "if": {"properties": {"type": {"const": each}}} | ({} if each == BATCH else {"required": ["type"]}),
                "then": {"properties": banned | {"groups": groups}},
            }
        )
    return rules


def _spec_schema() -> Schema:
    required_one_of = [{"required": [name]} for name in ("command", "image", "groups")]
    return SPEC.schema | {"anyOf": required_one_of, "allOf": _type_rules()}


def _kind() -> Field:
    job = choice("Job", required=True)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if value in APPLIED_KINDS:
            problems.add(path, "is applied, not submitted", value=value, fix="use: shunter apply -f FILE")
            return value
        return job.read(value, path, problems)

    return replace(job, read=read)


DOCUMENT = Section(
    "a job: groups of identical tasks",
    {
        "apiVersion": choice(API_VERSION, required=True),
        "kind": _kind(),
        "metadata": METADATA.as_field(default=METADATA.read({}, "", Problems())),
        "spec": Field(SPEC.read_partial, _spec_schema(), required=True),
    },
)
