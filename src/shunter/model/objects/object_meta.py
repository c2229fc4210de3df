"""The metadata of every object: names, versions and times."""

from __future__ import annotations

from typing import Any

import msgspec

Document = dict[str, Any]  # decoded JSON


class ObjectName(msgspec.Struct, frozen=True, array_like=True, order=True, cache_hash=True, gc=False):
    """Names one object of a kind: `namespace/name`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Meta(msgspec.Struct, frozen=True, array_like=True, gc=False):
    uid: int  # never used twice in a cluster
    namespace: str
    name: str
    created_ms: int
    user: str
    generation: int = 1  # raised by every change of the spec
    revision: int = 0  # of the last change, spec or status: metadata.resourceVersion
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deleting_ms: int = 0  # asked to go; it goes when nothing needs it any more

    @property
    def object_name(self) -> ObjectName:
        return ObjectName(self.namespace, self.name)

    @property
    def is_deleting(self) -> bool:
        return self.deleting_ms > 0
