"""The base struct of changes: each is encoded as an array that starts with its tag. A tag is a number that is never
reused."""

from __future__ import annotations

import msgspec


class ChangeStruct(msgspec.Struct, array_like=True, gc=False, tag_field="kind"):
    pass
