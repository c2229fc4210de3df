"""How every change is written: as an array, with its tag first. Tags are numbers for ever: none is used twice."""

from __future__ import annotations

import msgspec


class ChangeStruct(msgspec.Struct, array_like=True, gc=False, tag_field="kind"):
    pass
