"""Converts Testbeds, BatchJobs and Schedulings to documents of the API (the manifest with metadata and status), and
back.

The API answers with documents, and the output of `get` can be applied again. External schedulers over REST read
documents back into objects. One table per struct serves both directions. A document does not show who made the object.

Keys are spelt as in the reference implementation. In addition, a slot shows who holds it and since when, a run shows
its slots, and a Scheduling shows what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from shunter.model.objects import batch_jobs, schedulings, testbeds
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_fields import CLAIM_LABELS
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Document, Meta, ObjectName
from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, TESTBED, Object, kind_of
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import Slot, SlotHolder, SlotState, Testbed
from shunter.model.resources import STANDARD, format_amount, parse_amount
from shunter.model.timestamps import iso

APPLICATION_PREFIX = "bj."  # of the core's job that runs a BatchJob
EXECUTOR_GROUP = "executor"


def object_document(
    each: Object,
    *,
    api_version: str = API_VERSIONS[0],
    conditions: Sequence[Document] = (),
    unused: Sequence[str] = (),
) -> Document:
    """The whole object. `conditions` are what its reconciler checks, and `unused` the fields of its manifest without
    effect, where the caller knows them."""
    if isinstance(each, Testbed):
        spec, status = testbed_spec(each.spec), _testbed_status(each)
    elif isinstance(each, BatchJob):
        spec, status = _batch_job_spec(each.spec, each.claim), _BATCH_JOB_STATUS.write(each.status)
    else:
        spec, status = scheduling_spec(each.spec), _scheduling_status(each)
    return {
        "apiVersion": api_version,
        "kind": kind_of(each),
        "metadata": _metadata(each),
        "spec": spec,
        "status": status | _non_empty(conditions=list(conditions), unusedFields=list(unused)),
    }


def read_object(document: Document) -> Object:
    """The object of a document. Raises Invalid if its manifest is not valid."""
    metadata, spec, status = document["metadata"], document["spec"], document.get("status", {})
    [draft] = read_objects([document], default_namespace=metadata.get("namespace"))
    checked = {
        "name": draft.name.name,
        "namespace": draft.name.namespace,
        "labels": draft.labels,
        "annotations": draft.annotations,
        "resourceVersion": metadata["resourceVersion"],  # required: a cache would drop changes of revision 0
    }
    meta = _META.read(metadata | checked)
    if draft.kind == TESTBED:
        return Testbed(meta, draft.spec, _TESTBED_STATUS.read(status))  # type: ignore[arg-type]
    if draft.kind == BATCH_JOB:
        claim = None if spec.get("activeScheduling") is None else _CLAIM.read(spec)
        return BatchJob(meta, draft.spec, claim, _BATCH_JOB_STATUS.read(status))  # type: ignore[arg-type]
    return Scheduling(meta, draft.spec, _SCHEDULING_STATUS.read(status))  # type: ignore[arg-type]


def name_document(name: ObjectName) -> Document:
    return {"name": name.name, "namespace": name.namespace}


def slot_document(testbed: str, position: int, slot: Slot) -> Document:
    """One slot. `podName` is what fills it: the executor's task, or the reservation in its place, named like a ghost
    pod."""
    holder = slot.holder
    is_occupied = holder is not None and slot.state == SlotState.OCCUPIED
    ghost = f"ghostpod-{testbed}-on-{slot.place.node}-{slot.place.position}"
    document: Document = {
        "position": position,
        "slotPositionOnNode": slot.place.position,
        "nodeId": slot.node_id,
        "nodeName": slot.place.node,
        "podName": _executor_name(holder) if holder is not None and is_occupied else ghost,
        "state": slot.state.wire_name,
        "since": _timestamp(slot.since_ms),
        "size": _amounts(slot.size),
    }
    if holder is not None:
        document |= {} if is_occupied else {"reservedFor": _executor_name(holder)}
        document["heldBy"] = _HOLDER.write(holder)
    return document | ({"leaving": True} if slot.is_leaving else {})


def event_document(event: batch_jobs.ScheduledEvent) -> Document:
    """One run of a BatchJob."""
    return _EVENT.write(event)  # type: ignore[no-any-return]


# ---- specs: `model.objects.object_manifests` reads them ----


def testbed_spec(spec: testbeds.TestbedSpec) -> Document:
    document: Document = {
        "slotsPerNode": spec.slots_per_node,
        "nodeLabel": spec.node_label,
        "resourcesPerSlot": _amounts(spec.resources_per_slot),
    }
    return document | ({} if spec.sharing == testbeds.EXCLUSIVE else {"sharing": spec.sharing})


def _batch_job_spec(spec: batch_jobs.BatchJobSpec, claim: batch_jobs.Claim | None) -> Document:
    document: Document = {
        name: dict(given)
        for name, given in (("sparkSpec", spec.spark), ("flinkSpec", spec.flink), ("commandSpec", spec.command))
        if given is not None
    }
    external = {key: [dict(row) for row in rows] for key, rows in spec.external.items()}
    document |= _non_empty(externalScheduler=external, driver=dict(spec.driver))
    if spec.on_node_loss != batch_jobs.FAIL:
        document["onNodeLoss"] = spec.on_node_loss
    return document | ({} if claim is None else _CLAIM.write(claim))


def scheduling_spec(spec: SchedulingSpec) -> Document:
    document: Document = {}
    if spec.is_slot_based or spec.slots:
        jobs = [{"name": name_document(each.job), "slotIds": list(each.slot_ids)} for each in spec.slots]
        document["slotBased"] = {"mode": spec.mode, "jobs": jobs}
    if spec.queue:
        document["queueBased"] = [name_document(name) for name in spec.queue]
    document["testbed"] = name_document(spec.testbed)
    if spec.confirmation_timeout_s != schedulings.CONFIRMATION_TIMEOUT_S:
        document["confirmationTimeout"] = spec.confirmation_timeout_s
    return document


# ---- what a table cannot say ----


def _metadata(each: Object) -> Document:
    """A Testbed's labels show its first claim."""
    document: Document = _META.write(each.meta)
    claims = each.status.claims if isinstance(each, Testbed) else ()
    if claims:
        annotations = _non_empty(annotations=document.pop("annotations", {}))  # which come last
        labels = zip(CLAIM_LABELS, (claims[0].name, claims[0].namespace), strict=True)
        document |= {"labels": document.get("labels", {}) | dict(labels), **annotations}
    return document


def _testbed_status(testbed: Testbed) -> Document:
    slots = [slot_document(testbed.meta.name, number, slot) for number, slot in enumerate(testbed.status.slots)]
    return _TESTBED_STATUS.write(testbed.status) | {"slots": slots}  # type: ignore[no-any-return]


def _scheduling_status(scheduling: Scheduling) -> Document:
    """Each job with its most advanced state. A spec that was just extended names jobs that have no record yet."""
    document: Document = _SCHEDULING_STATUS.write(scheduling.status)
    records = zip(scheduling.spec.distinct_jobs, document["jobStates"], strict=False)
    document["jobStates"] = [{"name": name_document(name), **record} for name, record in records]
    return document


def _read_slot(document: Document) -> Slot:
    holder = document.get("heldBy")
    return Slot(
        place=_PLACE.read(document),
        node_id=document["nodeId"],
        size={name: parse_amount(name, amount) for name, amount in document.get("size", {}).items()},
        state=_parse_state(SlotState, document.get("state")),
        since_ms=_parse_ms(document.get("since")),
        holder=None if holder is None else _HOLDER.read(holder),
        is_leaving=document.get("leaving", False),
    )


# ---- tables ----


class _Codec(NamedTuple):
    """How a value is written into a document, and read back."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class _Row(NamedTuple):
    key: str  # in the document
    attribute: str = ""  # of the struct; empty: the key
    codec: _Codec | None = None  # None: both have the same value
    shown_if: str = ""  # an attribute: the row is left out while this is empty
    is_derived: bool = False  # written only


def _table(struct: Callable[..., Any], *rows: _Row) -> _Codec:
    """A struct as a mapping. An absent key, or null, means the struct's default."""
    attributes = {row.key: row.attribute or row.key for row in rows}
    get_all = attrgetter(*attributes.values())
    optional = [(row.key, row.shown_if) for row in rows if row.shown_if]
    encoded = [(row.key, row.codec.write) for row in rows if row.codec is not None]
    stored = [(row.key, attributes[row.key], row.codec) for row in rows if not row.is_derived]

    def write(value: Any) -> Document:
        document = dict(zip(attributes, get_all(value), strict=True))
        for key, condition in optional:
            if not getattr(value, condition):
                del document[key]
        for key, encode in encoded:
            if key in document:
                document[key] = encode(document[key])
        return document

    def read(document: Document) -> Any:
        found = {}
        for key, attribute, codec in stored:
            item = document.get(key)
            if item is not None:
                found[attribute] = item if codec is None else codec.read(item)
        return struct(**found)

    return _Codec(write, read)


def _tuple(item: _Codec) -> _Codec:
    return _Codec(lambda items: [item.write(each) for each in items], lambda items: tuple(map(item.read, items)))


def _state(kind: Any) -> _Codec:
    return _Codec(attrgetter("wire_name"), partial(_parse_state, kind))


def _parse_state(kind: Any, word: str | None) -> Any:
    """An object that was not reconciled yet has the first state."""
    return next((state for state in kind if state.wire_name == word), next(iter(kind)))


def _timestamp(ms: int) -> str | None:
    return iso(ms / 1000)


def _parse_ms(instant: str | None) -> int:
    return 0 if not instant else round(datetime.fromisoformat(instant).timestamp() * 1000)


def _amounts(amounts: dict[str, int]) -> Document:
    """Quantities as text; countable resources, like gpu, as numbers."""
    return {name: format_amount(name, amount) if name in STANDARD else amount for name, amount in amounts.items()}


def _executor_name(holder: SlotHolder) -> str:
    """The task that has a slot, as `shunter logs` names it."""
    return f"{APPLICATION_PREFIX}{holder.job.name}/{EXECUTOR_GROUP}/{holder.executor}"


def _non_empty(**fields: Any) -> Document:
    return {name: value for name, value in fields.items() if value}


_NAME = _Codec(name_document, lambda document: ObjectName(document["namespace"], document["name"]))
_NAMES = _tuple(_NAME)
_NUMBERS = _Codec(list, tuple)
_TEXTS = _Codec(list, list)
_MAP = _Codec(dict, dict)
_NUMBER_AS_TEXT = _Codec(str, int)
_TIME = _Codec(_timestamp, _parse_ms)
_PROBLEMS = _Row("problems", codec=_TEXTS)
_GENERATION = _Row("observedGeneration", "observed_generation")

_META = _table(
    partial(Meta, user="", created_ms=0),
    _Row("name"),
    _Row("namespace"),
    _Row("uid", codec=_NUMBER_AS_TEXT),
    _Row("resourceVersion", "revision", _NUMBER_AS_TEXT),
    _Row("generation"),
    _Row("creationTimestamp", "created_ms", _TIME),
    _Row("deletionTimestamp", "deleting_ms", _TIME, shown_if="is_deleting"),
    _Row("labels", codec=_MAP, shown_if="labels"),
    _Row("annotations", codec=_MAP, shown_if="annotations"),
)
_PLACE = _table(testbeds.SlotPlace, _Row("nodeName", "node"), _Row("slotPositionOnNode", "position"))
_HOLDER = _table(SlotHolder, _Row("job", codec=_NAME), _Row("executor"), _Row("scheduling", codec=_NAME))
_TESTBED_STATUS = _table(
    testbeds.TestbedStatus,
    _Row("state", codec=_state(testbeds.TestbedState)),
    _Row("slots", codec=_Codec(tuple, lambda slots: tuple(map(_read_slot, slots)))),  # written by `_testbed_status`
    _Row("nodeProblems", "node_problems", _Codec(lambda by_node: {k: list(v) for k, v in by_node.items()}, dict)),
    _PROBLEMS,
    _GENERATION,
    _Row("claims", codec=_NAMES, shown_if="claims"),
)
_REQUEST = _table(
    batch_jobs.CreationRequest,
    _Row("slotIds", "slot_ids", _NUMBERS),
    _Row("testbedName", "testbed", _NAME),
    _Row("replication", is_derived=True),
)
_CLAIM = _table(
    batch_jobs.Claim,
    _Row("activeScheduling", "scheduling", _NAME),
    _Row("creationRequest", "request", _REQUEST, shown_if="request"),
)
_EVENT = _table(
    partial(batch_jobs.ScheduledEvent, start_ms=0, slot_ids=(), job=0),
    _Row("start", "start_ms", _TIME),
    _Row("stop", "stop_ms", _TIME),
    _Row("successful"),
    _Row("scheduling", codec=_NAME),
    _Row("slots", "testbed", _NAME),
    _Row("slotIds", "slot_ids", _NUMBERS),
    _Row("application", "job"),
    _Row("reason", shown_if="reason"),
)
_BATCH_JOB_STATUS = _table(
    batch_jobs.BatchJobStatus,
    _Row("state", codec=_state(batch_jobs.BatchJobState)),
    _Row("scheduledEvents", "events", _tuple(_EVENT)),
    _PROBLEMS,
    _GENERATION,
    _Row("runs"),
    _Row("activeScheduling", "active_scheduling", _NAME, shown_if="active_scheduling"),
    _Row("slots", "testbed", _NAME, shown_if="testbed"),
    _Row("slotIds", "slot_ids", _NUMBERS, shown_if="testbed"),
    _Row("replication", shown_if="testbed", is_derived=True),
    _Row("places", codec=_tuple(_PLACE), shown_if="testbed"),
    _Row("application", shown_if="application"),
    _Row("restarts", shown_if="restarts"),
)
_JOB_RECORD = _table(
    schedulings.JobRecord,
    _Row("state", "progress", _state(schedulings.JobProgress)),
    _Row("slotIds", "slot_ids", _NUMBERS, shown_if="slot_ids"),
)
_SCHEDULING_STATUS = _table(
    schedulings.SchedulingStatus,
    _Row("state", codec=_state(schedulings.SchedulingState)),
    _Row("since", "since_ms", _TIME),
    _Row("jobStates", "jobs", _tuple(_JOB_RECORD)),  # `_scheduling_status` adds the names
    _PROBLEMS,
    _GENERATION,
    _Row("waitsFor", "waits_for", shown_if="waits_for"),
    _Row("leaving", codec=_NAMES, shown_if="leaving"),
)
