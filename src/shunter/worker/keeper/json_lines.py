"""Encodes and decodes JSON lines for both ends of a keeper's socket. `worker.process.protocol` describes the messages.

The decoder uses the interpreter's C scanner directly: importing `json` would add a megabyte and ten milliseconds to
every keeper for its pure Python fallback."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


try:
    from _json import encode_basestring_ascii as _quote
    from _json import make_scanner as _make_scanner
except ImportError:  # another Python than CPython: pay for the whole module
    from json.encoder import py_encode_basestring_ascii as _quote
    from json.scanner import py_make_scanner as _make_scanner  # type: ignore[attr-defined,no-redef]

VERSION = 1
LINE_MAX_BYTES = 64 * 2**20


class _Context:
    """What the scanner asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}


_scan: Callable[[str, int], tuple[Any, int]] = _make_scanner(_Context)  # type: ignore[arg-type]


def decode(line: bytes) -> Any:
    """One line as plain values. Raises ValueError."""
    try:
        value, _ = _scan(line.decode(), 0)
    except (StopIteration, RecursionError):
        raise ValueError("not a JSON line") from None
    return value


def encode(value: Any) -> str:
    """A value as JSON text without a line break."""
    if isinstance(value, str):
        return _quote(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote(key)}:{encode(item)}" for key, item in value.items()) + "}"
    return repr(value)
