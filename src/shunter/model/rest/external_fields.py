"""What external schedulers may write: a Scheduling, and data to store with a BatchJob. Reads the request bodies of
/external and turns a Scheduling into an equivalent manifest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shunter.model.objects.object_fields import EXECUTORS_MAX, EXTERNAL, QUEUE_ENTRIES_MAX, SLOT_ID_MAX, nullable
from shunter.model.objects.object_meta import Document
from shunter.model.objects.objects import API_VERSIONS, SCHEDULING
from shunter.model.objects.schedulings import RELAXED, STRICT
from shunter.model.schema.field_lists import section_list, value_list
from shunter.model.schema.fields import Section, any_value, choice, integer, text
from shunter.model.schema.name_fields import NAME, NAME_PATTERN, NAME_SIZE_MAX
from shunter.model.schema.problems import Problems

_PART = NAME_PATTERN.removeprefix("^").removesuffix("$")
REFERENCE_PATTERN = rf"^({_PART}/)?{_PART}$"
REFERENCE = text(
    REFERENCE_PATTERN,
    size_max=2 * NAME_SIZE_MAX + 1,
    rule="a name, or NAMESPACE/NAME for an object in another namespace",
)
MODES = (STRICT.upper(), RELAXED.upper(), STRICT, RELAXED)

SLOT_JOB = Section(
    "a job and the slots of its executors",
    {
        "name": replace(REFERENCE, required=True),
        "slots": replace(
            value_list(integer(0, SLOT_ID_MAX), count_min=1, count_max=EXECUTORS_MAX, fix="write it like [0, 1]"),
            required=True,
        ),
    },
)
SLOTS = Section(
    "jobs and the slots that they use",
    {
        "mode": choice(*MODES, default=MODES[0]),
        "jobs": replace(section_list(SLOT_JOB.as_field(), count_min=1, count_max=QUEUE_ENTRIES_MAX), required=True),
    },
)
_READ_ONLY = any_value().about("set by Shunter; ignored in requests")
SCHEDULING_BODY = Section(
    "BatchJobs and the Testbed that they run in: exactly one of queue and slots",
    {
        "name": replace(NAME, required=True),
        "testBed": replace(REFERENCE, required=True),
        "queue": nullable(replace(value_list(REFERENCE, count_max=QUEUE_ENTRIES_MAX), default=None)),
        "slots": nullable(SLOTS.as_field()),
        "state": _READ_ONLY,
        "jobStatus": _READ_ONLY,
        "waitsFor": _READ_ONLY,
        "problems": _READ_ONLY,
    },
)
JOB_BODY = Section(
    "a BatchJob; only externalScheduler is written: named keys are replaced, others stay",
    {
        "name": nullable(NAME),
        "externalScheduler": nullable(replace(EXTERNAL, default=None)),
        "state": _READ_ONLY,
        "scheduledEvents": _READ_ONLY,
        "problems": _READ_ONLY,
    },
)


def read_scheduling(body: Any, namespace: str) -> Document:
    """Convert the body to a Scheduling manifest. Raises Invalid."""
    problems = Problems()
    values = SCHEDULING_BODY.read(body, "body", problems)
    problems.raise_any()
    queue, slots = values["queue"] or None, values["slots"]
    if (queue is None) == (slots is None):
        fault = "has both queue and slots" if queue is not None else "has neither queue nor slots"
        problems.add("body", fault, fix="set either queue: [JOB, ...] or slots: {mode, jobs: [{name, slots}]}")
        problems.raise_any()
    if queue is not None:
        spec: Document = {"queueBased": [_reference(name) for name in queue]}
    else:
        jobs = [{"name": _reference(each["name"]), "slotIds": list(each["slots"])} for each in slots["jobs"]]
        spec = {"slotBased": {"mode": slots["mode"].lower(), "jobs": jobs}}
    return {
        "apiVersion": API_VERSIONS[0],
        "kind": SCHEDULING,
        "metadata": {"name": values["name"], "namespace": namespace},
        "spec": spec | {"testbed": _reference(values["testBed"])},
    }


def read_job(body: Any, name: str | None) -> tuple[str, dict[str, list[dict[str, str]]] | None]:
    """The name of the job, and the keys to replace; None if the body has no externalScheduler. Raises Invalid."""
    problems = Problems()
    values = JOB_BODY.read(body, "body", problems)
    problems.raise_any()
    given = values["name"]
    if given is None and name is None:
        problems.add("body.name", "is missing", fix="add name, or name the job in the path: /external/jobs/NAME")
    elif None not in (given, name) and given != name:
        problems.add("body.name", f"must be {name}, as in the path", value=given)
    problems.raise_any()
    return given or name or "", values["externalScheduler"]


def _reference(word: str) -> Document:
    namespace, _, name = word.rpartition("/")
    return {"name": name, "namespace": namespace} if namespace else {"name": name}
