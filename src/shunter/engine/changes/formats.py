"""The format of what is stored: which kinds of changes, stored fields and registries came with which format.

Every manager reads what the leader writes, so a leader writes only what the *active format* of the store has. It is
raised when every manager knows the next one. See `engine.state.registries.format`, and CONTRIBUTING.md: add what is new
to SINCE, and raise FORMAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.model.errors import NewerFormat
from shunter.model.job.spec import GroupSpec, JobOptions, JobSpec, SecretRef, TaskSpec
from shunter.model.objects.batch_jobs import BatchJobSpec, BatchJobStatus, Claim
from shunter.model.objects.schedulings import JobRecord, SchedulingSpec, SchedulingStatus
from shunter.model.objects.testbeds import TestbedSpec, TestbedStatus
from shunter.model.secrets import SealedValue
from shunter.model.usage import Usage

# A kind of change, a field of a stored struct, or the name of a registry; TYPE.FIELD of the state, which this module
# does not know.
Stored = type | tuple[type, str] | str

FIRST_FORMAT = 1  # of a store that says nothing; 0.1.0 and 0.2.0 read and write it
FORMAT = 2  # the newest that this program reads and writes
# What is newer than the first format, and the format that it came with.
SINCE: dict[Stored, int] = {
    **dict.fromkeys((c.UserSet, c.KeySet, c.KeyRevoked, c.KeyUsed, c.SessionEnded, "identity"), 2),
    **dict.fromkeys((c.SecretSet, c.SecretDeleted, c.SecretResealed, SealedValue, "secrets"), 2),
    **dict.fromkeys((SecretRef, (TaskSpec, "secrets"), "ClassKey.secrets", "ClassKey.secret_variables"), 2),
    **dict.fromkeys((c.AuditAdvanced, c.AuditCheckpointed, "audit"), 2),
    **dict.fromkeys((c.TenantSet, c.TenantDeleted, c.UserDeleted, "tenants"), 2),
    **dict.fromkeys((c.JoinTokenSet, c.JoinTokenUsed, c.JoinTokenDropped, "join_tokens"), 2),
    **dict.fromkeys((c.UsageAdded, Usage, "job_usage"), 2),
    **dict.fromkeys(((c.JobSubmitted, "trace"), "JobDump.trace"), 2),
}


@dataclass(frozen=True, slots=True)
class Formats:
    """What one program knows."""

    newest: int = FORMAT
    since: Mapping[Stored, int] = field(default_factory=lambda: SINCE)
    # The format that has all that the program can store. In the simulation it is newer than what an older one reads.
    complete: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "complete", max(self.since.values(), default=FIRST_FORMAT))

    def refuse_newer(self, format: int, raised_by: str) -> None:
        if format > self.newest:
            raise NewerFormat(
                f"the store has format {format}, and this Shunter reads up to {self.newest};"
                f" install Shunter {raised_by} or newer here"
            )

    def parts_newer_than(self, format: int, value: Any) -> Iterator[str]:
        """The names of what a program that only knows `format` would not find in a change, because it did not exist. A
        new field does no harm while it has its default."""
        if isinstance(value, msgspec.Struct):
            if self.since.get(type(value), FIRST_FORMAT) > format:
                yield type(value).__name__
            else:
                yield from self._newer_fields(format, value)
        elif isinstance(value, dict):
            yield from self.parts_newer_than(format, list(value.values()))
        elif isinstance(value, list | tuple | set | frozenset):
            for each in value:
                yield from self.parts_newer_than(format, each)

    def _newer_fields(self, format: int, struct: msgspec.Struct) -> Iterator[str]:
        kind = type(struct)
        for each in msgspec.structs.fields(kind):
            value = getattr(struct, each.name)
            if self.since.get((kind, each.name), FIRST_FORMAT) <= format:
                decode = _ENCODED.get((kind, each.name))
                yield from self.parts_newer_than(format, value if decode is None else decode(struct))
            elif value != _default_of(each):
                yield f"{kind.__name__}.{each.name}"


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _decoded(name: str, type: Any) -> Callable[[Any], Any]:
    return lambda change: msgspec.msgpack.decode(getattr(change, name), type=type)


_SPECS = {"Testbed": TestbedSpec, "BatchJob": BatchJobSpec, "Scheduling": SchedulingSpec}
_STATUSES = {"Testbed": TestbedStatus, "BatchJob": BatchJobStatus, "Scheduling": SchedulingStatus}
_groups, _options = _decoded("groups", tuple[GroupSpec, ...]), _decoded("options", JobOptions)
# Fields that are encoded in the change, and how to decode them.
_ENCODED: dict[tuple[type, str], Callable[[Any], Any]] = {
    (c.JobSubmitted, "groups"): _groups,
    (c.JobSubmitted, "options"): _options,
    (c.JobUpdated, "groups"): _groups,
    (c.JobUpdated, "options"): _options,
    (c.JobGroupsRefined, "groups"): _groups,
    (c.TemplateSet, "spec"): _decoded("spec", JobSpec),
    (c.ObjectSet, "spec"): lambda change: msgspec.msgpack.decode(change.spec, type=_SPECS[change.type]),
    (c.ObjectStatusSet, "status"): lambda change: msgspec.msgpack.decode(change.status, type=_STATUSES[change.type]),
    (c.ObjectStatusSet, "records"): _decoded("records", list[tuple[int, JobRecord]] | None),
    (c.BatchJobClaimed, "claim"): _decoded("claim", Claim | None),
}
FORMATS = Formats()
