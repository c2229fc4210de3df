"""Records of Schedulings as custom resources of the kind PastScheduling: one for each Scheduling from when the operator
first sees it, which stays when the Scheduling is deleted. Pure.

The record is open as long as it does not say when the Scheduling was deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.kube.install.crds import PAST_SCHEDULING
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import API_VERSIONS
from shunter.model.objects.past_schedulings import PastScheduling

RECORDS_MAX = 1_000  # of deleted Schedulings; the oldest go
RUNS_MAX = 500  # of one record; the newest stay


class Record(msgspec.Struct, frozen=True, gc=False):
    """What the operator remembers of one. Only an open one has its document."""

    name: ObjectName  # the uid of the Scheduling, in its namespace
    version: int
    scheduling: ObjectName
    deleted_ms: int  # 0: it is open
    document: Document | None

    @property
    def is_open(self) -> bool:
        return self.deleted_ms == 0


def read_record(document: Document) -> Record:
    metadata, past = document["metadata"], read_past(document)
    return Record(
        ObjectName(metadata["namespace"], metadata["name"]),
        int(metadata["resourceVersion"]),
        ObjectName(past.namespace, past.name),
        past.deleted_ms,
        None if past.deleted_ms else document,
    )


def read_past(document: Document) -> PastScheduling:
    """The API server accepts no other documents."""
    spec = document["spec"]
    runs = [{**run, "job": _tuple(run["job"])} for run in spec["runs"]]
    return msgspec.convert({**spec, "testbed": _tuple(spec["testbed"]), "runs": runs}, PastScheduling)


def past_document(uid: str, past: PastScheduling) -> Document:
    metadata = {"name": uid, "namespace": past.namespace}
    return {"apiVersion": API_VERSIONS[0], "kind": PAST_SCHEDULING, "metadata": metadata, "spec": past_spec(past)}


def past_spec(past: PastScheduling) -> Mapping[str, Any]:
    # By JSON, so that it compares with what the API server has.
    spec = msgspec.json.decode(msgspec.json.encode(replace(past, runs=past.runs[-RUNS_MAX:])))
    runs = [{**run, "job": _mapping(run["job"])} for run in spec["runs"]]
    return {**spec, "testbed": _mapping(spec["testbed"]), "runs": runs}


def _mapping(name: Sequence[str]) -> Mapping[str, str]:
    return {"namespace": name[0], "name": name[1]}


def _tuple(name: Mapping[str, str]) -> tuple[str, str]:
    return name["namespace"], name["name"]
