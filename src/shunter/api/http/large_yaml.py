"""Parses large YAML bodies in a child process. A megabyte of YAML takes a second of processor time and 50
megabytes of memory: in the manager it would stall other requests, and the memory would stay. Called by `api.routes`.

The child is `python -m shunter.api.http.large_yaml`: YAML on stdin, msgpack on stdout."""

from __future__ import annotations

import asyncio
import resource
import sys
from typing import Any

import msgspec

from shunter.model.errors import Busy, Failed, Invalid, Problem, TooLarge
from shunter.model.files.yaml_reader import parse_documents

YAML_SIZE_MAX = 4 * 2**20
IN_PROCESS_SIZE_MAX = 32 * 2**10  # a smaller text is parsed faster than a child starts
CHILDREN_MAX = 2  # at once; others wait for their turn
EXPANDED_SIZE_MAX = 32 * 2**20  # of the documents, aliases written out
CHILD_MEMORY_MAX = 2**30
CHILD_MAX_S = 60
LARGE_INTEGER = 1  # the kind of an extension of msgpack: the digits of an integer of more than 64 bits
_TOO_EXPANDED = f"the YAML expands to more than {EXPANDED_SIZE_MAX:,} bytes; use fewer aliases, or split it"


class ParseResult(msgspec.Struct):
    """The answer of the child: documents, or what is wrong with them."""

    documents: list[Any] = []
    problems: list[tuple[str, str, Any, str | None]] = []
    too_large: str = ""


class YamlParser:
    """Limits how many children run at once."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(CHILDREN_MAX)

    async def parse(self, body: bytes) -> list[object]:
        """The documents of a body. Raises Invalid, TooLarge."""
        if len(body) <= IN_PROCESS_SIZE_MAX:
            return await asyncio.to_thread(parse_documents, body)
        async with self._turns:
            return await _parse_in_child(body)


async def _parse_in_child(body: bytes) -> list[object]:
    pipe = asyncio.subprocess.PIPE
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", __name__, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError as error:
        raise Busy(f"cannot start a process to parse YAML: {error.strerror}") from error
    try:
        async with asyncio.timeout(CHILD_MAX_S):
            output, _ = await child.communicate(body)
    except TimeoutError:
        raise TooLarge(f"parsing the YAML took more than {CHILD_MAX_S} s; send JSON, or split it") from None
    finally:
        if child.returncode is None:
            child.kill()
    if child.returncode != 0:
        raise Failed(f"the process that parses YAML ended with {child.returncode}")
    result = msgspec.msgpack.decode(output, type=ParseResult, ext_hook=_large_integer)
    if result.too_large:
        raise TooLarge(result.too_large)
    if result.problems:
        raise Invalid([Problem(*problem) for problem in result.problems])
    return result.documents


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_MAX, CHILD_MEMORY_MAX))
    try:
        output = _encode(_parse(sys.stdin.buffer.read(YAML_SIZE_MAX + 1)))
    except MemoryError:
        output = b""
    if not output or len(output) > EXPANDED_SIZE_MAX:
        output = msgspec.msgpack.encode(ParseResult(too_large=_TOO_EXPANDED))
    sys.stdout.buffer.write(output)


def _parse(body: bytes) -> ParseResult:
    try:
        return ParseResult(parse_documents(body))
    except Invalid as error:
        return ParseResult(
            problems=[(each.field, each.message, _plain(each.value), each.fix) for each in error.problems]
        )


def _encode(result: ParseResult) -> bytes:
    """msgpack has integers of 64 bits. Larger ones are too large for every field, whose checks will say so."""
    try:
        return msgspec.msgpack.encode(result)
    except OverflowError:
        return msgspec.msgpack.encode(_encodable(msgspec.to_builtins(result)))


def _encodable(value: Any) -> Any:
    match value:
        case dict():
            return {_large_key(key): _encodable(each) for key, each in value.items()}
        case list():
            return [_encodable(each) for each in value]
        case int() if _is_large(value):
            return msgspec.msgpack.Ext(LARGE_INTEGER, str(value).encode())
    return value


def _large_key(key: Any) -> Any:
    """As text: no field has such a name."""
    return str(key) if isinstance(key, int) and _is_large(key) else key


def _is_large(value: int) -> bool:
    return not -(2**63) <= value < 2**64


def _large_integer(_code: int, digits: memoryview) -> int:
    return int(bytes(digits))


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float) else str(value)


if __name__ == "__main__":
    main()
