"""Manifests for tests, with only what a test is about."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Invalid, Problem
from shunter.model.job.checks import ExpressionCheck
from shunter.model.job.manifests import JobReader
from shunter.model.job.spec import GroupSpec, JobSpec


def parse_job(
    document: object,
    *,
    default_namespace: str | None = None,
    name_default: str | None = None,
    check_constraint: ExpressionCheck | None = None,
    check_job_match: ExpressionCheck | None = None,
) -> JobSpec:
    """One manifest as a JobSpec. Raises Invalid with every problem. Without a `name_default` a name must be given."""
    reader = JobReader(check_constraint, check_job_match, cached_jobs_max=0)
    return reader.read(document, default_namespace=default_namespace, name_default=name_default)


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
