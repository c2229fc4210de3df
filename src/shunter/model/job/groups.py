"""The groups of a manifest: merges each group's own fields with those that it inherits from its job. Used by
`model.job.manifests`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shunter.model.job.arrays import count_indexes
from shunter.model.job.job_fields import INHERITED_FIELDS
from shunter.model.job.spec import PER_NODE

GROUP_DEFAULT = "main"

_DEFAULTS = {name: field.default for name, field in INHERITED_FIELDS.items()} | {"after": ()}
_COUNT_FIELDS = frozenset({"count", "array", "entries"})  # one of these says how many tasks there are


@dataclass(frozen=True, slots=True)
class Group:
    """`values` has every field. `own` is what the group itself says, `specified` names what it or the job says."""

    name: str
    path: str  # of the group itself
    job_path: str
    values: dict[str, Any]
    own: dict[str, Any]
    specified: frozenset[str]

    def field_path(self, field: str, key: str | None = None) -> str:
        """The path of a field in the group or in the job; or of a key of a field that is merged from both."""
        if key is not None:
            return f"{self.path if key in self.own.get(field, ()) else self.job_path}.{field}.{key}"
        return f"{self.path if field in self.own else self.job_path}.{field}"


def read_groups(spec: dict[str, Any], path: str) -> list[Group]:
    """A job without groups has one group without fields of its own."""
    job = {name: value for name, value in spec.items() if name in INHERITED_FIELDS}
    if "groups" not in spec:
        return [Group(GROUP_DEFAULT, path, path, _DEFAULTS | job, {}, frozenset(job))]
    groups = []
    for number, own in enumerate(spec["groups"]):
        own_fields = {name: value for name, value in own.items() if name != "name"}
        specified = merge(job, own_fields)
        groups.append(
            Group(
                own["name"],
                f"{path}.groups[{number}]",
                path,
                _DEFAULTS | specified,
                own_fields,
                frozenset(specified),
            )
        )
    return groups


def merge(job: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    """The value of the group takes precedence. Mappings are merged key by key; everything else is replaced."""
    inherited = job
    if not _COUNT_FIELDS.isdisjoint(group):
        inherited = {name: value for name, value in job.items() if name not in _COUNT_FIELDS}
    merged = inherited | group
    for name, value in group.items():
        if type(value) is dict and type(inherited.get(name)) is dict:
            merged[name] = inherited[name] | value
    return merged


def count_tasks(group: Group, job_type: str) -> int:
    """How many tasks a group starts with: none if each node that joins adds one."""
    if job_type in PER_NODE:
        return 0
    values = group.values
    return count_indexes(values["array"]) or len(values["entries"]) or values["count"] or 1
