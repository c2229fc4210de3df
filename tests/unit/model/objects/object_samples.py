"""Manifests and objects for tests, with only what a test is about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from shunter.model.errors import Invalid, Problem
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Meta
from shunter.model.objects.objects import Draft, Object
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed

V1 = "batchjob.gcr.io/v1alpha1"


def document(kind: str, name: str = "it", /, *, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name, **(metadata or {})}, "spec": spec}


def testbed(name: str = "bench", /, **spec: Any) -> dict[str, Any]:
    size = {"slotsPerNode": 2, "nodeLabel": "bench", "resourcesPerSlot": {"cpu": "700m", "memory": "896Mi"}}
    return document("Testbed", name, **{**size, **spec})


def batch_job(name: str = "spark-pi", /, **spec: Any) -> dict[str, Any]:
    return document("BatchJob", name, **(spec or {"commandSpec": {"command": ["true"]}}))


def scheduling(name: str = "first", /, **spec: Any) -> dict[str, Any]:
    return document("Scheduling", name, **({"queueBased": [{"name": "spark-pi"}], "testbed": {"name": "bench"}} | spec))


def read(document: object, namespace: str | None = None) -> Draft:
    return read_objects([document], default_namespace=namespace)[0]


def problems(*documents: object) -> list[Problem]:
    with pytest.raises(Invalid) as caught:
        read_objects(list(documents))
    return list(caught.value.problems)


def make_object(draft: Draft, *, uid: int = 7, revision: int = 3) -> Object:
    """The object that a draft becomes."""
    name = draft.name
    meta = Meta(uid, name.namespace, name.name, 1_700_000_000_000, "me", 1, revision, draft.labels, draft.annotations)
    kinds: dict[str, Any] = {"Testbed": Testbed, "BatchJob": BatchJob, "Scheduling": Scheduling}
    found: Object = kinds[draft.kind](meta, draft.spec)
    return found


# ---- any manifest ----

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)
_LABELS = st.dictionaries(st.sampled_from(["team", "a.b/c", "x"]), st.text("abc äö-/", max_size=9), max_size=3)
_METADATA = st.fixed_dictionaries({"name": NAMES, "namespace": NAMES}, optional={"labels": _LABELS})
_REFERENCES = st.fixed_dictionaries({"name": NAMES, "namespace": NAMES})
_WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12)
_TEXTS = st.lists(_WORDS, max_size=3)
_APPLICATIONS = {
    "sparkSpec": st.fixed_dictionaries(
        {"type": st.just("Python"), "mainApplicationFile": st.just("/opt/jobs/words.py")},
        optional={
            "arguments": _TEXTS,
            "image": _WORDS,
            "sparkConf": st.dictionaries(st.sampled_from(["spark.a", "spark.b"]), _WORDS),
            "volumes": st.lists(st.dictionaries(_WORDS, st.integers(-(2**53), 2**53) | st.none() | _WORDS), max_size=2),
        },
    ),
    "flinkSpec": st.fixed_dictionaries(
        {"jarFile": st.just("/opt/jobs/words.jar")}, optional={"args": _TEXTS, "className": st.just("a.B")}
    ),
    "commandSpec": st.fixed_dictionaries(
        {"command": _TEXTS.filter(bool)}, optional={"args": _TEXTS, "workingDir": st.just("/tmp")}
    ),
}
_EXTERNAL = st.dictionaries(
    _WORDS, st.lists(st.dictionaries(_WORDS, st.text("0123456789 ()", max_size=8), max_size=3), max_size=3), max_size=3
)


def _complete_document(kind: str, spec: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"apiVersion": st.just(V1), "kind": st.just(kind), "metadata": _METADATA, "spec": spec}
    )


def _job_name(each: Any) -> tuple[str, str]:
    return each["name"]["namespace"], each["name"]["name"]


TESTBEDS = _complete_document(
    "Testbed",
    st.fixed_dictionaries(
        {
            "slotsPerNode": st.integers(0, 1000),
            "nodeLabel": st.sampled_from(["bench", "tuberlin.de/node-with-slots-profiler"]),
            "resourcesPerSlot": st.fixed_dictionaries(
                {"cpu": st.sampled_from(["700m", "2", "1500m"])},
                optional={"memory": st.sampled_from(["896Mi", "3Gi", "1000", "7Ki"]), "gpu": st.just("2")},
            ).map(lambda size: {k: int(v) if k == "gpu" else v for k, v in size.items()}),
        },
        optional={"sharing": st.just("disjoint")},
    ),
)
BATCH_JOBS = _complete_document(
    "BatchJob",
    st.one_of(
        *(
            st.fixed_dictionaries(
                {name: application},
                optional={
                    "externalScheduler": _EXTERNAL.filter(bool),
                    "driver": st.just({"cpu": "250m", "memory": "1Gi"}),
                },
            )
            for name, application in _APPLICATIONS.items()
        )
    ),
)
SCHEDULINGS = _complete_document(
    "Scheduling",
    st.one_of(
        st.fixed_dictionaries(
            {"queueBased": st.lists(_REFERENCES, min_size=1, max_size=6), "testbed": _REFERENCES},
            optional={"confirmationTimeout": st.sampled_from([0.5, 30.0, 600.0])},
        ),
        st.fixed_dictionaries(
            {
                "slotBased": st.fixed_dictionaries(
                    {
                        "mode": st.sampled_from(["strict", "relaxed"]),
                        "jobs": st.lists(
                            st.fixed_dictionaries(
                                {
                                    "name": _REFERENCES,
                                    "slotIds": st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True),
                                }
                            ),
                            min_size=1,
                            max_size=4,
                            unique_by=_job_name,
                        ),
                    }
                ),
                "testbed": _REFERENCES,
            }
        ),
    ),
)
ANY = st.one_of(TESTBEDS, BATCH_JOBS, SCHEDULINGS)
