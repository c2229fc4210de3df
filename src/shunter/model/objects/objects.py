"""Objects: manifests that the engine stores and reconciles (Testbeds, BatchJobs and Schedulings). An object has a spec,
which users write, and a status.

Only the engine writes objects; the pure functions of `testbeds/` decide what comes next."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import Testbed, TestbedSpec

GROUP = "batchjob.gcr.io"
GROUP_ALIAS = "esi.tu-berlin.de"
VERSION = "v1alpha1"
API_VERSIONS = (f"{GROUP}/{VERSION}", f"{GROUP_ALIAS}/{VERSION}")

BATCH_JOB, TESTBED, SCHEDULING = "BatchJob", "Testbed", "Scheduling"
KINDS = (BATCH_JOB, TESTBED, SCHEDULING)
PLURALS = {"batchjobs": BATCH_JOB, "testbeds": TESTBED, "schedulings": SCHEDULING}
SHORT_NAMES = {"bj": BATCH_JOB, "tb": TESTBED, "slots": TESTBED, "sched": SCHEDULING}

Object: TypeAlias = BatchJob | Testbed | Scheduling
Spec: TypeAlias = BatchJobSpec | TestbedSpec | SchedulingSpec


def kind_of(each: Object) -> str:
    return type(each).__name__


class Draft(msgspec.Struct, frozen=True):
    """A manifest after validation: the object to create, or what an existing one is to become."""

    kind: str
    name: ObjectName
    spec: Spec
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    revision: int | None = None  # metadata.resourceVersion, if given: the object must still have it
    own: Document = {}  # path -> value, of fields that only Shunter writes, as the manifest has them


class ObjectEvent(msgspec.Struct, frozen=True, gc=False):
    """One change of an object, as watchers see it. `object` is the object right after the change, or right before its
    deletion."""

    revision: int
    action: str  # ADDED | MODIFIED | DELETED
    kind: str
    object: Object
    more: bool = False  # for watchers: another one follows at once, and may belong to the same commit
