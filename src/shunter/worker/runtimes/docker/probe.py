"""Asks a daemon a simple question over its socket, without a library: a worker does so every few seconds, also on
machines where no container ever runs. Used by `docker.daemon`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

ANSWER_MAX_BYTES = 4 * 2**20


async def get_json(socket: str, path: str) -> Any:
    """The JSON response of a GET. Raises OSError without such a response."""
    reader, writer = await asyncio.open_unix_connection(socket, limit=ANSWER_MAX_BYTES)
    try:
        writer.write(f"GET /{path} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
        answer = await reader.read(ANSWER_MAX_BYTES)
        while chunk := await reader.read(ANSWER_MAX_BYTES):
            answer += chunk
            if len(answer) > ANSWER_MAX_BYTES:
                raise OSError(f"the answer to {path} is too long")
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0]
    if b" 200" not in status:
        raise OSError(f"the answer to {path} is {status.decode(errors='replace') or 'empty'}")
    try:
        return msgspec.json.decode(body)
    except msgspec.MsgspecError as error:
        raise OSError(f"the answer to {path} is not JSON: {error}") from error
