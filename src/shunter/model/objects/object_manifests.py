"""Reads manifests of Testbeds, BatchJobs and Schedulings: turns decoded documents into drafts, or lists everything that
is wrong.

Called by the gateway for every apply, and by `validate` without a cluster. The tables of `model.objects.object_fields`
and the checks below define what is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import LICENCE_PREFIX, NAMESPACE_DEFAULT
from shunter.model.objects.application_fields import check_application
from shunter.model.objects.batch_jobs import BatchJobSpec
from shunter.model.objects.object_fields import (
    CLAIM_LABELS,
    DOCUMENTS,
    EXTERNAL,
    READ_ONLY_METADATA,
    READ_ONLY_SPEC,
    STRATEGIES,
)
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, KINDS, PLURALS, SHORT_NAMES, TESTBED, Draft, Spec
from shunter.model.objects.schedulings import SchedulingSpec, SlotJob
from shunter.model.objects.testbeds import TestbedSpec
from shunter.model.schema.fields import Schema
from shunter.model.schema.problems import Problems, did_you_mean

JOB = "Job"
_LEGACY_TESTBED_KIND = "Slots"  # the reference implementation's name of a Testbed


def read_objects(documents: Sequence[object], *, default_namespace: str | None = None) -> list[Draft]:
    """All of them, or Invalid with the problems of all. Field paths begin with `items[N].` if there are several.
    `default_namespace` applies to manifests without a namespace."""
    problems = Problems()
    drafts: dict[tuple[str, ObjectName], Draft] = {}
    for number, document in enumerate(documents):
        path = f"items[{number}]." if len(documents) > 1 else ""
        draft = _read(document, path, default_namespace or NAMESPACE_DEFAULT, problems)
        if draft is None:
            continue
        if drafts.setdefault((draft.kind, draft.name), draft) is not draft:
            problems.add(f"{path}metadata.name", f"the {draft.kind} appears twice", value=str(draft.name))
    problems.raise_any()
    return list(drafts.values())


def is_job(document: object) -> bool:
    """Whether it is to be submitted rather than applied."""
    return isinstance(document, dict) and document.get("kind") == JOB


def object_problems(documents: Sequence[object]) -> list[Problem]:
    """All that is wrong with the objects of one file, as far as it can be seen without a cluster."""
    try:
        read_objects(documents)
    except Invalid as error:
        return list(error.problems)
    return []


def object_schema(kind: str) -> Schema:
    """The JSON Schema of a manifest of this kind."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind, **DOCUMENTS[kind].schema}


def check_external(data: object, path: str) -> dict[str, list[dict[str, str]]]:
    """Validate the data that an external scheduler stores with a BatchJob. Raises Invalid."""
    problems = Problems()
    checked: dict[str, list[dict[str, str]]] = EXTERNAL.read(data, path, problems)
    problems.raise_any()
    return checked


def parse_kind(word: str, path: str = "kind") -> str:
    """The kind that a user means: BatchJob, batchjobs, batchjob or bj. Raises Invalid with the nearest."""
    words = {kind.lower(): kind for kind in KINDS} | PLURALS | SHORT_NAMES
    found = words.get(word.lower())
    if found is None:
        problems = Problems()
        known = ", ".join(f"{plural} ({_short_name(kind)})" for plural, kind in PLURALS.items())
        problems.add(path, f"must be one of {known}", value=word, fix=did_you_mean(word.lower(), words))
        problems.raise_any()
        raise AssertionError
    return found


def _short_name(kind: str) -> str:
    return next(word for word, each in SHORT_NAMES.items() if each == kind)


# ---- one document ----


def _read(document: Any, path: str, namespace: str, problems: Problems) -> Draft | None:
    """None after a problem."""
    found = len(problems.found)
    kind = _kind(document, path, problems)
    if kind is None:
        return None
    values = DOCUMENTS[kind].read(document, path, problems)
    if len(problems.found) > found:
        return None
    metadata = values["metadata"]
    name = ObjectName(metadata["namespace"] or namespace, metadata["name"])
    spec = _build(kind, values["spec"], name.namespace, f"{path}spec", problems)
    if len(problems.found) > found:
        return None
    labels = {key: value for key, value in metadata["labels"].items() if kind != TESTBED or key not in CLAIM_LABELS}
    return Draft(
        kind=kind,
        name=name,
        spec=spec,
        labels=labels,
        annotations=metadata["annotations"],
        revision=metadata["resourceVersion"],
        own=_read_only_fields(kind, document),
    )


def _kind(document: Any, path: str, problems: Problems) -> str | None:
    if type(document) is not dict:
        problems.add(path.rstrip(".") or "document", "must be a mapping", value=document, fix="give {kind: ...}")
        return None
    kind = document.get("kind")
    if kind in KINDS:
        return str(kind)
    if kind is None:
        problems.add(f"{path}kind", "is missing", fix=f"add kind: {', '.join(KINDS)} or {JOB}")
    elif kind == JOB:
        problems.add(f"{path}kind", "is submitted, not applied", value=kind, fix="use: shunter submit")
    else:
        fix = f"use {TESTBED}" if kind == _LEGACY_TESTBED_KIND else did_you_mean(str(kind), (*KINDS, JOB))
        problems.add(f"{path}kind", f"must be {', '.join(KINDS)} or {JOB}", value=kind, fix=fix)
    return None


def _read_only_fields(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """The fields of the manifest that only Shunter writes."""
    metadata, spec = document["metadata"], document["spec"]
    own = {f"metadata.{word}": metadata[word] for word in READ_ONLY_METADATA if word in metadata}
    if kind == TESTBED:
        labels = metadata.get("labels") or {}
        own |= {f"metadata.labels.{label}": labels[label] for label in CLAIM_LABELS if label in labels}
    if kind == BATCH_JOB:
        own |= {f"spec.{word}": spec[word] for word in READ_ONLY_SPEC if word in spec}
    return own | ({"status": document["status"]} if document.get("status") else {})


# ---- specs ----


def _build(kind: str, spec: dict[str, Any], namespace: str, path: str, problems: Problems) -> Spec:
    if kind == TESTBED:
        return _build_testbed(spec, path, problems)
    if kind == BATCH_JOB:
        return _build_batch_job(spec, path, problems)
    return _build_scheduling(spec, namespace, path, problems)


def _build_testbed(spec: dict[str, Any], path: str, problems: Problems) -> TestbedSpec:
    size = spec["resourcesPerSlot"]
    for name in size:
        if name.startswith(LICENCE_PREFIX):
            problems.add(f"{path}.resourcesPerSlot.{name}", "is a resource of the whole cluster, not of a node")
    if not any(size.values()):
        problems.add(f"{path}.resourcesPerSlot", "must request at least one resource", fix="set cpu or memory")
    return TestbedSpec(
        slots_per_node=spec["slotsPerNode"],
        node_label=spec["nodeLabel"],
        resources_per_slot={name: amount for name, amount in size.items() if amount},
        sharing=spec["sharing"],
    )


def _build_batch_job(spec: dict[str, Any], path: str, problems: Problems) -> BatchJobSpec:
    check_application({name: value for name, value in spec.items() if value is not None}, path, problems)
    return BatchJobSpec(
        spark=spec["sparkSpec"],
        flink=spec["flinkSpec"],
        command=spec["commandSpec"],
        external=spec["externalScheduler"],
        driver=spec["driver"],
        on_node_loss=spec["onNodeLoss"],
    )


def _build_scheduling(spec: dict[str, Any], namespace: str, path: str, problems: Problems) -> SchedulingSpec:
    _check_one_of(STRATEGIES, spec, path, problems)
    testbed = _build_testbed_name(spec, namespace, path, problems)
    if spec["confirmationTimeout"] <= 0:
        problems.add(f"{path}.confirmationTimeout", "must be more than 0", value=spec["confirmationTimeout"])
    slot_based = spec["slotBased"] or {"mode": "", "jobs": ()}
    slots = tuple(SlotJob(_object_name(each["name"], namespace), each["slotIds"]) for each in slot_based["jobs"])
    _check_distinct(slots, f"{path}.slotBased.jobs", problems)
    return SchedulingSpec(
        testbed=testbed,
        queue=tuple(_object_name(each, namespace) for each in spec["queueBased"] or ()),
        slots=slots,
        mode=slot_based["mode"],
        confirmation_timeout_s=spec["confirmationTimeout"],
    )


def _check_one_of(names: tuple[str, ...], spec: dict[str, Any], path: str, problems: Problems) -> None:
    given = [name for name in names if spec[name] is not None]
    if len(given) != 1:
        fix = f"remove {' or '.join(given)}" if given else f"add {' or '.join(names)}"
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        problems.add(path, f"must have exactly one of {listed}", value=" and ".join(given) or "none", fix=fix)


def _build_testbed_name(spec: dict[str, Any], namespace: str, path: str, problems: Problems) -> ObjectName:
    testbed, legacy = spec["testbed"], spec["slots"]
    if testbed and legacy:
        problems.add(f"{path}.slots", "is the old name of testbed, which is also set", fix="remove slots")
    elif not testbed and not legacy:
        problems.add(f"{path}.testbed", "is missing", fix="add testbed: {name: ...}")
        return ObjectName(namespace, "")
    return _object_name(testbed or legacy, namespace)


def _check_distinct(slots: tuple[SlotJob, ...], path: str, problems: Problems) -> None:
    seen: set[ObjectName] = set()
    for number, each in enumerate(slots):
        if each.job in seen:
            fix = "name it once, with all its slotIds"
            problems.add(f"{path}[{number}].name", "names the same job twice", value=str(each.job), fix=fix)
        seen.add(each.job)
        if len(set(each.slot_ids)) < len(each.slot_ids):
            problems.add(f"{path}[{number}].slotIds", "names the same slot twice", value=str(list(each.slot_ids)))


def _object_name(reference: dict[str, Any], namespace: str) -> ObjectName:
    return ObjectName(reference["namespace"] or namespace, reference["name"])
