"""The manifest of a job, and of the versions that a long-running job still has. Used by `gateway.monitor`.

Environments may hold what not every reader should see: who may only read gets them without their values."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.engine.engine import Engine
from shunter.engine.state.records import Job
from shunter.engine.state.registries.services import JobVersion
from shunter.gateway.jobs.rerun import spec_of
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_refs import AnyRun
from shunter.model.errors import Invalid, NotFound
from shunter.model.identity.roles import Role
from shunter.model.job.manifest_writer import write_manifest
from shunter.model.job.manifests import JobReader
from shunter.model.job.spec import DEFAULT_OPTIONS, GroupSpec, JobOptions, JobSpec
from shunter.model.rest.monitor.views import JobManifest
from shunter.ports.principals import JobReference, Principal

MASK = "********"
TRUSTED = frozenset((Role.SUBMITTER, Role.OPERATOR, Role.ADMIN))
_groups = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_options = msgspec.msgpack.Decoder(JobOptions)


class Manifests:
    def __init__(self, caller: Principal, engine: Engine, runs: Runs, reader: JobReader) -> None:
        self._caller, self._engine, self._runs, self._reader = caller, engine, runs, reader

    async def find(self, reference: JobReference, version: int | None) -> JobManifest:
        run = await self._runs.find(reference)
        specs = self._specs(run)
        current = max(specs)
        wanted = current if version is None else version
        if wanted not in specs:
            known = ", ".join(map(str, sorted(specs)))
            raise NotFound(f"version {version} of job '{specs[current].name}' is not known any more; known: {known}")
        manifest = write_manifest(specs[wanted])
        is_exact = self._reads_as(manifest, specs[wanted])
        user = run.user if isinstance(run, Job) else run.view.user
        is_masked = user != self._caller.user and not (self._caller.roles & TRUSTED) and _mask(manifest)
        return JobManifest(
            name=specs[wanted].name,
            namespace=specs[wanted].namespace,
            version=wanted,
            versions=sorted(specs),
            manifest=manifest,
            exact=is_exact and not is_masked,
            masked=is_masked,
        )

    def _specs(self, run: AnyRun) -> dict[int, JobSpec]:
        """The specs by the number of their version."""
        if not isinstance(run, Job):
            template = self._engine.state.templates.by_id.get(run.id) if not run.view.run else None
            return {run.view.version: spec_of(run.summary) if template is None else template.spec}
        found = {
            run.version: JobSpec(
                run.namespace, run.name, run.spec_version.groups, run.type, run.priority, run.labels, run.options
            )
        }
        service = self._engine.state.services.jobs.get(run.id)
        for past in (service.stable_version, service.previous_version) if service is not None else ():
            if past is not None:
                found.setdefault(past.number, _spec_of_version(run, past))
        return found

    def _reads_as(self, manifest: dict[str, Any], spec: JobSpec) -> bool:
        """Whether a submit of it would be the same job."""
        try:
            return self._reader.read_all([manifest], default_namespace=spec.namespace, make_name=str) == [spec]
        except Invalid:
            return False


def _spec_of_version(job: Job, version: JobVersion) -> JobSpec:
    options = _options.decode(version.options) if version.options else DEFAULT_OPTIONS
    groups = _groups.decode(version.groups)
    return JobSpec(job.namespace, job.name, groups, job.type, version.priority, version.labels, options)


def _mask(manifest: dict[str, Any]) -> bool:
    """Whether there was something to hide."""
    spec = manifest["spec"]
    has_hidden = False
    for values in (spec, *spec.get("groups", ())):
        if "env" in values:
            values["env"], has_hidden = dict.fromkeys(values["env"], MASK), True
        if "stdin" in values:
            values["stdin"], has_hidden = "", True
    return has_hidden
