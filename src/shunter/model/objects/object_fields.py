"""Tables of the fields of Testbed, BatchJob and Scheduling manifests: those of the reference implementation, and our
additions.

`model.objects.object_manifests` reads documents with them and publishes their schemas. Everything has a named limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from shunter.model.job.job_fields import API_VERSION as NATIVE_API_VERSION
from shunter.model.job.task_fields import RESOURCES
from shunter.model.objects.application_fields import KINDS as APPLICATIONS
from shunter.model.objects.application_fields import SECTIONS
from shunter.model.objects.batch_jobs import FAIL, RESTART
from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.objects.schedulings import CONFIRMATION_TIMEOUT_S, RELAXED, STRICT
from shunter.model.objects.testbeds import DISJOINT, EXCLUSIVE
from shunter.model.schema.field_lists import mapping, section_list, value_list
from shunter.model.schema.fields import Field, Schema, Section, any_value, choice, duration, integer, text
from shunter.model.schema.name_fields import LABEL_KEY, LABELS, NAME, NAME_PATTERN, NAME_RULE
from shunter.model.schema.problems import Problems

BATCH_JOB_NAME_SIZE_MAX = 60  # its job in the core is called `bj.NAME`
ANNOTATIONS_MAX = 64
ANNOTATION_SIZE_MAX = 64 * 2**10
SLOTS_PER_NODE_MAX = 1_000
SLOT_ID_MAX = 999_999
EXECUTORS_MAX = 10_000  # of one BatchJob
QUEUE_ENTRIES_MAX = 100_000
CONFIRMATION_MAX_S = 86_400.0
APPLICATION_SIZE_MAX = 256 * 2**10
EXTERNAL_KEYS_MAX = 64
EXTERNAL_ROWS_MAX = 1_000
EXTERNAL_ENTRIES_MAX = 10_000
EXTERNAL_TEXT_SIZE_MAX = 4 * 2**10
EXTERNAL_SIZE_MAX = 2**20
RESOURCE_VERSION_DIGITS_MAX = 18

# The fields that only Shunter writes. A manifest may have them, as `get` prints them, where they are as they are.
READ_ONLY_METADATA = ("uid", "generation", "creationTimestamp", "deletionTimestamp")
READ_ONLY_SPEC = ("activeScheduling", "creationRequest")
CLAIM_LABELS = (
    "batchjob.tuberlin.de/active-scheduling-name",
    "batchjob.tuberlin.de/active-scheduling-namespace",
)

_NO_CONTROL_CHARS_PATTERN = r"^[^\u0000-\u001f\u007f]+$"


def nullable(field: Field) -> Field:
    """A field for which null means the same as absence, as in Kubernetes."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        return field.default if value is None else field.read(value, path, problems)

    schema: Schema = {"anyOf": [{k: v for k, v in field.schema.items() if k != "description"}, {"type": "null"}]}
    described = {"description": field.schema["description"]} if "description" in field.schema else {}
    return replace(field, read=read, schema=described | schema)


def _document(schema: Schema, size_max: int) -> Field:
    """Any mapping that JSON can hold."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not dict:
            problems.add(path, "must be a mapping", value=value)
        elif (size := encoded_size(value)) < 0:
            problems.add(path, "must contain only text, numbers, lists and mappings that JSON can represent")
        elif size > size_max:
            problems.add(path, f"must be at most {size_max:,} bytes", value=size)
        return value

    return Field(read, schema)


def encoded_size(value: Any) -> int:
    """The size in bytes; -1 for values that cannot be stored: infinite numbers, text that is not Unicode."""
    try:
        return len(msgspec.msgpack.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return -1


def _resource_version() -> Field:
    version_text = text(
        rf"^[0-9]{{1,{RESOURCE_VERSION_DIGITS_MAX}}}$", size_max=RESOURCE_VERSION_DIGITS_MAX, rule="a number"
    )

    def read(value: Any, path: str, problems: Problems) -> int | None:
        word = str(value) if type(value) is int else value
        found = len(problems.found)
        version_text.read(word, path, problems)
        return int(word) if len(problems.found) == found else None

    about = "the version that the change is based on; a conflict if the current version differs"
    schema: Schema = {"anyOf": [version_text.schema, {"type": "integer", "minimum": 0}], "description": about}
    return Field(read, schema)


def _slot_resources() -> Field:
    """Resources as in tasks, at least one."""

    def read(value: Any, path: str, problems: Problems) -> dict[str, int]:
        if value == {}:
            problems.add(path, "must have at least one resource", fix="write it like {cpu: 700m, memory: 896Mi}")
        return RESOURCES.read(value, path, problems)  # type: ignore[no-any-return]

    schema = RESOURCES.schema | {"description": "the size of each slot", "minProperties": 1}
    return Field(read, schema, required=True)


# ---- metadata ----


def _metadata(about: str, name_size_max: int) -> Section:
    name = text(NAME_PATTERN, size_max=name_size_max, rule=NAME_RULE, required=True)
    annotation = text(size_max=ANNOTATION_SIZE_MAX)
    read_only = {word: any_value().about("read-only, set by Shunter") for word in READ_ONLY_METADATA}
    return Section(
        about,
        {
            "name": name,
            "namespace": nullable(NAME),
            "labels": nullable(LABELS),
            "annotations": nullable(mapping(LABEL_KEY, annotation, count_max=ANNOTATIONS_MAX)),
            "resourceVersion": nullable(_resource_version()),
            **read_only,
        },
    )


REFERENCE = Section(
    "reference to an object; default namespace: that of the manifest",
    {"name": replace(NAME, required=True), "namespace": nullable(NAME)},
)

# ---- specs ----

TESTBED_SPEC = Section(
    "slots that are reserved on labelled nodes",
    {
        "slotsPerNode": replace(integer(0, SLOTS_PER_NODE_MAX), required=True).about("number of slots on each node"),
        "nodeLabel": replace(LABEL_KEY, required=True).about(
            "key of a node label; nodes with the label belong to the Testbed, ordered by its value, a whole number"
        ),
        "resourcesPerSlot": _slot_resources(),
        "sharing": nullable(choice(EXCLUSIVE, DISJOINT, default=EXCLUSIVE)).about(
            "who may use it at the same time: one Scheduling (exclusive), or several with disjoint slots (disjoint)"
        ),
    },
)

EXTERNAL_NUMBER_END = 2**63  # larger ones are text
_EXTERNAL_TEXT = text(
    _NO_CONTROL_CHARS_PATTERN, size_max=EXTERNAL_TEXT_SIZE_MAX, rule="text without control characters"
)


def _external_value() -> Field:
    """Text, or a number, which is stored as text."""
    words = text(size_max=EXTERNAL_TEXT_SIZE_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if (type(value) is int and abs(value) < EXTERNAL_NUMBER_END) or type(value) is float:
            return str(value)
        if type(value) is not str:
            problems.add(path, "must be text or a number", value=value)
            return value
        return words.read(value, path, problems)

    return Field(read, words.schema | {"type": ["string", "number"]}, None)


_EXTERNAL_ROW = mapping(_EXTERNAL_TEXT, _external_value(), count_max=EXTERNAL_ENTRIES_MAX)


def _external() -> Field:
    """Scheduler -> rows of texts. Their total size is limited."""
    table = mapping(
        _EXTERNAL_TEXT, section_list(_EXTERNAL_ROW, count_max=EXTERNAL_ROWS_MAX), count_max=EXTERNAL_KEYS_MAX
    )

    def read(value: Any, path: str, problems: Problems) -> dict[str, list[dict[str, str]]]:
        found = len(problems.found)
        tables = table.read(value, path, problems)
        if len(problems.found) > found:
            return {}
        if (size := encoded_size(tables)) > EXTERNAL_SIZE_MAX:
            problems.add(path, f"must be at most {EXTERNAL_SIZE_MAX:,} bytes", value=size)
        return {key: list(rows) for key, rows in tables.items()}

    about = "data that external schedulers store with the job: one key per scheduler, and lists of texts by name"
    return Field(read, table.schema | {"description": about}, {})


EXTERNAL = _external()


def _application(section: Section) -> Field:
    """Stored as it was written; `model.objects.application_fields` checks what is in it."""
    return _document(section.schema, APPLICATION_SIZE_MAX)


BATCH_JOB_SPEC = Section(
    "a recurring application: exactly one of sparkSpec, flinkSpec and commandSpec",
    {
        **{name: nullable(_application(SECTIONS[name])) for name in APPLICATIONS},
        "externalScheduler": nullable(EXTERNAL),
        "driver": nullable(replace(_application(SECTIONS["driver"]), default={})),
        "onNodeLoss": nullable(choice(FAIL, RESTART, default=FAIL)).about(
            "what happens to a run that loses a node: fail, or restart as a whole in free slots"
        ),
        **{word: any_value().about("read-only, set by the Scheduling that claims the job") for word in READ_ONLY_SPEC},
    },
)

SLOT_JOB = Section(
    "a job and the slots of its executors",
    {
        "name": REFERENCE.as_field(required=True),
        "slotIds": replace(
            value_list(integer(0, SLOT_ID_MAX), count_min=1, count_max=EXECUTORS_MAX, fix="write it like [0, 1]"),
            required=True,
        ).about("slot numbers, one per executor"),
    },
)
SLOT_BASED = Section(
    "jobs and the slots that they use",
    {
        "mode": choice(STRICT, RELAXED, default=STRICT).about(
            "strict starts jobs in order; relaxed lets a later job pass one that must wait"
        ),
        "jobs": replace(
            section_list(SLOT_JOB.as_field(), count_min=1, count_max=QUEUE_ENTRIES_MAX), required=True
        ).about("each job at most once"),
    },
)
STRATEGIES = ("queueBased", "slotBased")

SCHEDULING_SPEC = Section(
    "BatchJobs and the Testbed that they run in: exactly one of queueBased and slotBased",
    {
        "queueBased": nullable(
            replace(section_list(REFERENCE.as_field(), count_min=1, count_max=QUEUE_ENTRIES_MAX), default=None)
        ).about("jobs in order; each mention of a job adds one executor"),
        "slotBased": nullable(SLOT_BASED.as_field()),
        "testbed": nullable(REFERENCE.as_field()),
        "slots": nullable(REFERENCE.as_field()).about("old name of testbed"),
        "confirmationTimeout": nullable(duration(CONFIRMATION_MAX_S, default=CONFIRMATION_TIMEOUT_S)).about(
            "time that executors have to start before the Scheduling fails"
        ),
    },
)

# ---- documents ----


def _one_of(names: tuple[str, ...]) -> Schema:
    """Exactly one of these fields is present and not null."""
    return {"oneOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]}


def _kind(
    kind: str, about: str, spec: Section, extra_schema: Schema, versions: tuple[str, ...], name_size_max: int
) -> Section:
    return Section(
        about,
        {
            "apiVersion": choice(*versions, required=True),
            "kind": choice(kind, required=True),
            "metadata": _metadata(f"name, namespace, labels and annotations of the {kind}", name_size_max).as_field(
                required=True
            ),
            "spec": Field(spec.read, spec.schema | extra_schema, required=True),
            "status": any_value().about("read-only, set by Shunter"),
        },
    )


DOCUMENTS: dict[str, Section] = {
    TESTBED: _kind(
        TESTBED, "slots that are reserved on labelled nodes", TESTBED_SPEC, {}, (*API_VERSIONS, NATIVE_API_VERSION), 63
    ),
    BATCH_JOB: _kind(
        BATCH_JOB,
        "a recurring distributed application",
        BATCH_JOB_SPEC,
        _one_of(APPLICATIONS),
        API_VERSIONS,
        BATCH_JOB_NAME_SIZE_MAX,
    ),
    SCHEDULING: _kind(
        SCHEDULING,
        "a decision of an external scheduler",
        SCHEDULING_SPEC,
        {"allOf": [_one_of(STRATEGIES), _one_of(("testbed", "slots"))]},
        API_VERSIONS,
        63,
    ),
}
