"""Reads job manifests: turns a decoded YAML or JSON document into a JobSpec, or lists everything that is wrong with it.

Called by the gateway for every submit, and by `validate` without a cluster. The tables of `model.job.job_fields` and
`model.job.checks` define what is valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from shunter.model.errors import Invalid, Problem
from shunter.model.graph import find_cycle, format_cycle
from shunter.model.job.build import build_job
from shunter.model.job.checks import ExpressionCheck, ExpressionChecks, GroupCheck, check_job
from shunter.model.job.groups import read_groups
from shunter.model.job.job_fields import DOCUMENT
from shunter.model.job.spec import BATCH, NAMESPACE_DEFAULT, JobSpec
from shunter.model.schema.fields import Schema
from shunter.model.schema.name_fields import LABELS, NAME
from shunter.model.schema.problems import Problems

CACHED_JOBS_MAX = 256
CACHED_KEY_SIZE_MAX = 16 * 2**10


def validate_documents(
    documents: Sequence[object],
    *,
    check_constraint: ExpressionCheck | None = None,
    check_job_match: ExpressionCheck | None = None,
) -> list[Problem]:
    """All that is wrong with the manifests of one file, as far as it can be seen without a cluster."""
    reader = JobReader(check_constraint, check_job_match)
    try:
        reader.read_all(documents, default_namespace=None, make_name=str)
    except Invalid as error:
        return list(error.problems)
    return []


def job_schema() -> Schema:
    """The JSON Schema of a Job manifest."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Job", **DOCUMENT.schema}


def check_labels(labels: dict[str, str | None], path: str) -> None:
    """Raises Invalid unless these are labels. None, which removes a label, is allowed."""
    problems = Problems()
    LABELS.read({key: "" if value is None else value for key, value in labels.items()}, path, problems)
    problems.raise_any()


class JobReader:
    """Reads manifests and keeps what it validated last: jobs of one bulk submit often differ in their name only, and
    then cost a few microseconds and share their groups. What it returns must not be changed."""

    def __init__(
        self,
        check_constraint: ExpressionCheck | None,
        check_job_match: ExpressionCheck | None = None,
        *,
        cached_jobs_max: int = CACHED_JOBS_MAX,
    ) -> None:
        self._expression_checks = ExpressionChecks(check_constraint, check_job_match)
        self._cached_jobs_max = cached_jobs_max
        self._cache: dict[bytes, JobSpec] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def read(
        self, document: object, *, default_namespace: str | None = None, name_default: str | None = None
    ) -> JobSpec:
        make_name = None if name_default is None else lambda: name_default
        return self.read_all([document], default_namespace=default_namespace, make_name=make_name)[0]

    def read_all(
        self, documents: Sequence[object], *, default_namespace: str | None, make_name: Callable[[], str] | None
    ) -> list[JobSpec]:
        """All of them, or Invalid with the problems of all. Field paths begin with `items[N].` if there are several.
        `make_name` names the jobs that have no name."""
        problems = Problems()
        namespace = default_namespace or NAMESPACE_DEFAULT
        jobs = []
        for number, document in enumerate(documents):
            path = f"items[{number}]." if len(documents) > 1 else ""
            job = self._read(document, path, namespace, problems)
            if job is not None and not job.name:
                if make_name is None:
                    problems.add(f"{path}metadata.name", "is missing", fix="add name")
                else:
                    job = msgspec.structs.replace(job, name=make_name())
            jobs.append(job)
        problems.raise_any()
        valid_jobs = [job for job in jobs if job is not None]
        _check_names(valid_jobs, problems)
        _check_cycles(valid_jobs, problems)
        problems.raise_any()
        return valid_jobs

    def _read(self, document: Any, path: str, namespace: str, problems: Problems) -> JobSpec | None:
        """None after a problem. A job that has no name yet has an empty one."""
        key, name = self._key(document, namespace)
        cached = self._cache.get(key) if key else None
        if cached is None:
            cached = self._validate(document, path, namespace, problems)
            if cached is not None and key:
                self._cache_job(key, cached)
            return cached
        if name:
            NAME.read(name, f"{path}metadata.name", problems)
        return JobSpec(
            cached.namespace, name, cached.groups, cached.type, cached.priority, cached.labels, cached.options
        )

    def _key(self, document: Any, namespace: str) -> tuple[bytes, str]:
        """The encoded document without its name, and that name. The key is empty if the document cannot be cached."""
        if not self._cached_jobs_max or type(document) is not dict:
            return b"", ""
        metadata = document.get("metadata", {})
        if type(metadata) is not dict or not metadata.get("name", "absent"):
            return b"", ""
        unnamed = metadata.copy()
        name = unnamed.pop("name", "")
        try:
            key = self._encode((namespace, document | {"metadata": unnamed}))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return b"", ""
        return (key, name) if len(key) <= CACHED_KEY_SIZE_MAX else (b"", "")

    def _cache_job(self, key: bytes, job: JobSpec) -> None:
        if len(self._cache) >= self._cached_jobs_max:
            del self._cache[next(iter(self._cache))]  # the oldest
        self._cache[key] = job

    def _validate(self, document: Any, path: str, namespace: str, problems: Problems) -> JobSpec | None:
        found = len(problems.found)
        values = DOCUMENT.read(document, path, problems)
        if len(problems.found) > found:
            return None
        spec, spec_path = values["spec"], f"{path}spec"
        groups = read_groups(spec, spec_path)
        check_job(spec, groups, spec_path, problems)
        for group in groups:
            GroupCheck(group, spec.get("type", BATCH), self._expression_checks, problems).run()
        return build_job(values["metadata"], spec, groups, namespace) if len(problems.found) == found else None


def _check_names(jobs: Sequence[JobSpec], problems: Problems) -> None:
    cached: dict[tuple[str, str], JobSpec] = {}
    for number, job in enumerate(jobs):
        earlier = cached.setdefault((job.namespace, job.name), job) if job.name else job
        if earlier is not job and earlier != job:
            fault, fix = "appears twice with different specs", "give each job a unique name"
            problems.add(f"items[{number}].metadata.name", fault, value=job.name, fix=fix)


def _check_cycles(jobs: Sequence[JobSpec], problems: Problems) -> None:
    """Jobs of one file that wait for each other in a cycle. Names with a run are older and wait for nothing."""
    dependent_jobs = {(job.namespace, job.name): number for number, job in enumerate(jobs) if job.options.after}
    if not dependent_jobs:
        return
    edges = {
        name: [(name[0], edge.job) for edge in jobs[number].options.after] for name, number in dependent_jobs.items()
    }
    if cycle := find_cycle(edges):
        path = f"items[{dependent_jobs[cycle[0]]}]." if len(jobs) > 1 else ""
        cycle_text = format_cycle(name for _, name in cycle)
        problems.add(
            f"{path}spec.after", f"jobs depend on each other in a cycle: {cycle_text}", fix="remove one of these edges"
        )
