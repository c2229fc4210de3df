"""Encodes and decodes STOMP frames, versions 1.0 to 1.2. Does no I/O; called by `api.stomp.session`.

One WebSocket message may hold several frames, a part of one, or a single newline (a heart-beat), so the decoder reads a
stream."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

V1_0, V1_1, V1_2 = "1.0", "1.1", "1.2"
VERSIONS = (V1_0, V1_1, V1_2)

HEADERS_MAX = 64
HEAD_SIZE_MAX = 16 * 2**10  # command and headers
BODY_SIZE_MAX = 64 * 2**10
LENGTH_DIGITS_MAX = 9

NUL = b"\0"
UNESCAPED_COMMANDS = ("CONNECT", "CONNECTED")
COMMANDS_WITH_BODY = ("SEND", "MESSAGE", "ERROR")

_ESCAPES = {
    V1_0: {},
    V1_1: {"\\": "\\\\", "\n": "\\n", ":": "\\c"},
    V1_2: {"\\": "\\\\", "\n": "\\n", ":": "\\c", "\r": "\\r"},
}
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_HEAD_END = re.compile(rb"\n\r?\n")


class BadFrame(Exception):
    """The input is not STOMP; the connection must close."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. If a header is repeated, the first one counts."""

    command: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def encode(frame: Frame, version: str = V1_2) -> bytes:
    """With a content-length if there is a body, so that it may contain anything."""
    headers = dict(frame.headers)
    if frame.body:
        headers["content-length"] = str(len(frame.body))
    plain = frame.command in UNESCAPED_COMMANDS
    escapes = {} if plain else _ESCAPES[version]
    lines = [frame.command, *(f"{_escape(name, escapes)}:{_escape(value, escapes)}" for name, value in headers.items())]
    return "\n".join(lines).encode() + b"\n\n" + frame.body + NUL


def header_line(name: str, value: str, version: str) -> str:
    """One line of a frame that is put together by hand."""
    escapes = _ESCAPES[version]
    return f"{_escape(name, escapes)}:{_escape(value, escapes)}\n"


class Decoder:
    """Takes bytes as they come. `version` changes when a session has agreed on one."""

    def __init__(self) -> None:
        self.version = V1_2
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame; None until more bytes come. Raises BadFrame."""
        buffer = self._buffer
        start = _skip_newlines(buffer)
        del buffer[:start]
        if not buffer:
            return None
        head = _HEAD_END.search(buffer, 0, HEAD_SIZE_MAX + 3)
        nul = buffer.find(NUL, 0, HEAD_SIZE_MAX + 3 if head is None else head.start())
        if nul >= 0:
            raise BadFrame("the frame ends within its headers: an empty line must follow them")
        if head is None:
            if len(buffer) > HEAD_SIZE_MAX:
                raise BadFrame(f"command and headers are larger than {HEAD_SIZE_MAX:,} bytes")
            return None
        command, headers = _read_head(bytes(buffer[: head.start()]), self.version)
        end = _body_end(buffer, head.end(), headers)
        if end is None:
            return None
        body = bytes(buffer[head.end() : end])
        del buffer[: end + 1]
        if body and command not in COMMANDS_WITH_BODY:
            raise BadFrame(f"a {command} frame has no body")
        return Frame(command, headers, body)


def _skip_newlines(buffer: bytearray) -> int:
    """Where the next frame begins. A carriage return is skipped with its newline only, which may come later."""
    position = 0
    while position < len(buffer):
        if buffer[position] == 10:
            position += 1
        elif buffer[position] == 13 and (position + 1 == len(buffer) or buffer[position + 1] == 10):
            if position + 1 == len(buffer):
                return position
            position += 2
        else:
            return position
    return position


def _read_head(head: bytes, version: str) -> tuple[str, dict[str, str]]:
    try:
        lines = [line.removesuffix("\r") for line in head.decode().split("\n")]
    except UnicodeDecodeError:
        raise BadFrame("headers are not UTF-8") from None
    command, *rest = lines
    if not (command.isascii() and command.isalpha() and command.isupper()):
        raise BadFrame(f"a frame begins with a command, not with {command[:40]!r}")
    if len(rest) > HEADERS_MAX:
        raise BadFrame(f"a frame has more than {HEADERS_MAX} headers")
    escapes = {} if command in UNESCAPED_COMMANDS else _ESCAPES[version]
    headers: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not name:
            raise BadFrame(f"a header is written NAME:VALUE, not {line[:40]!r}")
        headers.setdefault(_unescape(name, escapes), _unescape(value, escapes))
    return command, headers


def _body_end(buffer: bytearray, start: int, headers: Mapping[str, str]) -> int | None:
    """Where the NUL behind the body is; None if it has not come yet."""
    declared = headers.get("content-length")
    if declared is None:
        end = buffer.find(NUL, start)
        if (end if end >= 0 else len(buffer)) - start > BODY_SIZE_MAX:
            raise _too_large()
        return end if end >= 0 else None
    declared = declared.strip()
    if not (declared.isascii() and declared.isdigit() and len(declared) <= LENGTH_DIGITS_MAX):
        raise BadFrame(f"content-length is a number of bytes, not {declared[:40]!r}")
    end = start + int(declared)
    if end - start > BODY_SIZE_MAX:
        raise _too_large()
    if end >= len(buffer):
        return None
    if buffer[end] != 0:
        raise BadFrame(f"no NUL follows the {declared} bytes that content-length announces")
    return end


def _too_large() -> BadFrame:
    return BadFrame(f"a body is larger than {BODY_SIZE_MAX:,} bytes")


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    for char, escaped in escapes.items():  # the backslash is the first
        text = text.replace(char, escaped)
    return text


def _unescape(text: str, escapes: Mapping[str, str]) -> str:
    if not escapes or "\\" not in text:
        return text
    chars = {escaped[1]: char for char, escaped in escapes.items()}

    def char(found: re.Match[str]) -> str:
        if found[1] not in chars:
            raise BadFrame(f"{found[0][:2]!r} is not a valid escape in a header")
        return chars[found[1]]

    return _ESCAPED.sub(char, text)
