"""Manifests for tests, with only what a test is about."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Invalid, Problem
from shunter.model.job.manifests import parse_job
from shunter.model.job.spec import GroupSpec, JobSpec


def manifest(name: str | None = "render", /, **spec: Any) -> dict[str, Any]:
    metadata = {} if name is None else {"name": name}
    return {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"command": ["/bin/true"], **spec},
    }


def container(**spec: Any) -> dict[str, Any]:
    """A job of an image, without a command."""
    document = manifest(image="busybox", **spec)
    if "command" not in spec:
        del document["spec"]["command"]
    return document


def job(**spec: Any) -> JobSpec:
    return parse_job(manifest(**spec))


def group(**spec: Any) -> GroupSpec:
    return job(**spec).groups[0]


def problems(document: object) -> list[Problem]:
    with pytest.raises(Invalid) as caught:
        parse_job(document)
    return list(caught.value.problems)


def fields(document: object) -> list[str]:
    return [problem.field for problem in problems(document)]
