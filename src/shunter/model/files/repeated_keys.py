"""Finds a key that an object of a JSON document has twice. Used by the API and by the reader of manifest files.

The JSON decoder keeps the last of equal keys and says nothing, so a value would be dropped silently."""

from __future__ import annotations

import json
from collections.abc import Sequence

SEARCHED_SIZE_MAX = 64 * 2**10  # a larger document is machine-made, and the search would hold up others


class _Repeated(Exception):
    pass


def find_repeated_key(document: bytes | str) -> str | None:
    """None if there is none, or if the document, which must be valid JSON, is larger than SEARCHED_SIZE_MAX."""
    if len(document) > SEARCHED_SIZE_MAX:
        return None
    try:
        _decoder.decode(document if isinstance(document, str) else document.decode())
    except _Repeated as found:
        return str(found)
    return None


def _check(pairs: Sequence[tuple[str, object]]) -> bool:
    """The value itself is not needed."""
    if len(dict(pairs)) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _Repeated(next(key for position, key in enumerate(keys) if key in keys[:position]))
    return True


_decoder = json.JSONDecoder(object_pairs_hook=_check, parse_int=str, parse_float=str)
