"""Job manifests: from a decoded YAML or JSON document to a JobSpec, or to the list of everything that is wrong with it.

Called by the gateway for every submit. What is valid is said by the tables of `model.job_fields`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from shunter.model.errors import Rejected
from shunter.model.fields import Schema
from shunter.model.job_fields import ARGUMENTS_SIZE_MAX, DOCUMENT, ENV_RESERVED, LABELS, NAME, UNLIMITED
from shunter.model.jobs import NAMESPACE_DEFAULT, GroupSpec, JobSpec, Restart, TaskSpec
from shunter.model.problems import Problems
from shunter.model.resources import CPU, DISK, MEMORY

GROUP_DEFAULT = "main"
CPU_DEFAULT_MILLI = 1000
CACHED_JOBS_MAX = 256
CACHED_KEY_SIZE_MAX = 16 * 2**10

ConstraintCheck = Callable[[str], object]  # raises ValueError, or a rejection, that says what is wrong


def parse_job(
    document: object,
    *,
    default_namespace: str | None = None,
    name_default: str | None = None,
    check_constraint: ConstraintCheck | None = None,
) -> JobSpec:
    """One manifest as a JobSpec. Raises Invalid with every problem. Without a `name_default` a name must be given."""
    reader = JobReader(check_constraint, cached_jobs_max=0)
    return reader.read(document, default_namespace=default_namespace, name_default=name_default)


def job_schema() -> Schema:
    """The JSON Schema of a Job manifest."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Job", **DOCUMENT.schema}


def check_labels(labels: dict[str, str | None], path: str) -> None:
    """Raises Invalid unless these are labels. A value of None (take the label away) is let through."""
    problems = Problems()
    LABELS.read({key: "" if value is None else value for key, value in labels.items()}, path, problems)
    problems.raise_any()


class JobReader:
    """Reads manifests and keeps what it validated last: jobs of one bulk submit often differ in their name only, and
    then cost a few microseconds and share their groups. What it returns must not be changed."""

    def __init__(self, check_constraint: ConstraintCheck | None, *, cached_jobs_max: int = CACHED_JOBS_MAX) -> None:
        self._check_constraint = check_constraint
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
        """All of them, or Invalid with the problems of all. Field paths begin with `items[N].` where there are several.
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
        return [job for job in jobs if job is not None]

    def _read(self, document: Any, path: str, namespace: str, problems: Problems) -> JobSpec | None:
        """None after a problem. A job that has no name yet has an empty one."""
        key, name = self._key(document, namespace)
        known = self._cache.get(key) if key else None
        if known is None:
            known = self._validate(document, path, namespace, problems)
            if known is not None and key:
                self._remember(key, known)
            return known
        if name:
            NAME.read(name, f"{path}metadata.name", problems)
        return JobSpec(known.namespace, name, known.groups, known.type, known.priority, known.labels)

    def _key(self, document: Any, namespace: str) -> tuple[bytes, str]:
        """All of a document but its name, encoded, and that name. No key means: do not look it up, it is odd or big."""
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

    def _remember(self, key: bytes, job: JobSpec) -> None:
        if len(self._cache) >= self._cached_jobs_max:
            del self._cache[next(iter(self._cache))]  # the oldest
        self._cache[key] = job

    def _validate(self, document: Any, path: str, namespace: str, problems: Problems) -> JobSpec | None:
        found = len(problems.found)
        values = DOCUMENT.read(document, path, problems)
        if len(problems.found) == found:
            self._check(values["spec"], f"{path}spec", problems)
        return _build(values, namespace) if len(problems.found) == found else None

    def _check(self, spec: dict[str, Any], path: str, problems: Problems) -> None:
        """What no field can see alone."""
        command, env, restart = spec["command"], spec["env"], spec["restart"]
        if not command[0]:
            problems.add(f"{path}.command[0]", "must name a program", value="")
        for name in ENV_RESERVED.intersection(env):
            problems.add(f"{path}.env.{name}", "is set by Shunter itself", fix="leave it out")
        if len("\0".join((*command, *env, *env.values())).encode()) > ARGUMENTS_SIZE_MAX:
            problems.add(f"{path}.command", f"must be, together with env, at most {ARGUMENTS_SIZE_MAX:,} bytes")
        if restart and restart["delay_max"] is not None and restart["delay_max"] < restart["delay"]:
            problems.add(f"{path}.restart.delay_max", "must not be less than delay", value=restart["delay_max"])
        if self._check_constraint is not None:
            for number, constraint in enumerate(spec["constraints"]):
                try:
                    self._check_constraint(constraint)
                except (ValueError, Rejected) as error:
                    problems.add(f"{path}.constraints[{number}]", str(error), value=constraint)


def _build(values: dict[str, Any], namespace: str) -> JobSpec:
    metadata, spec = values["metadata"], values["spec"]
    amounts = {CPU: CPU_DEFAULT_MILLI} | spec["resources"]
    task = TaskSpec(
        command=spec["command"],
        env=spec["env"],
        dir=spec["dir"],
        cpu_milli=amounts[CPU],
        memory_bytes=amounts.get(MEMORY, 0),
        disk_bytes=amounts.get(DISK, 0),
        run_timeout_s=spec["timeout"]["run"],
        stop_grace_s=spec["stop_grace"],
        log_max_bytes=spec["log_max"],
    )
    group = GroupSpec(
        name=GROUP_DEFAULT,
        count=spec["count"],
        task=task,
        needs={name: amount for name, amount in amounts.items() if amount},
        restart=_build_restart(spec["restart"]),
        datacenters=spec["datacenters"],
        constraints=spec["constraints"],
        queue_timeout_s=spec["timeout"]["queue"],
    )
    name, labels = metadata["name"] or "", metadata["labels"]
    return JobSpec(metadata["namespace"] or namespace, name, (group,), spec["type"], spec["priority"], labels)


def _build_restart(values: dict[str, Any] | None) -> Restart:
    if values is None:
        return Restart()
    policy, most = values["policy"], values["max"]
    if most is None:
        most = Restart().max if policy in ("never", "on-failure") else None
    return Restart(
        policy=policy,
        max=None if most == UNLIMITED else most,
        delay_s=values["delay"],
        factor=float(values["factor"]),
        delay_max_s=max(Restart().delay_max_s, values["delay"]) if values["delay_max"] is None else values["delay_max"],
        jitter=float(values["jitter"]),
    )
