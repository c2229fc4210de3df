"""An HTTP server with scripted answers over real sockets: complete, in chunks, too short, or none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

Script = Callable[["ReceivedRequest"], bytes | Iterable[bytes] | None]  # None: close the connection without an answer


@dataclass
class ReceivedRequest:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int  # number of the connection it came on
    gone: threading.Event  # set when the test is over

    @property
    def json(self) -> object:
        return msgspec.json.decode(self.body)


@dataclass
class ScriptedServer:
    """`script` is called for every request, in the thread of its connection. Several pieces are sent one by one,
    and the connection closed after it unless the last piece ends a chunked body."""

    script: Script
    received: list[ReceivedRequest] = field(default_factory=list)
    url: str = ""
    _gone: threading.Event = field(default_factory=threading.Event)
    _open: list[socket.socket] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        number = 0
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(connection)
            threading.Thread(target=self._converse, args=(connection, number), daemon=True).start()
            number += 1

    def _converse(self, connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as incoming:
            try:
                while (received := self._read(incoming, number)) is not None:
                    self.received.append(received)
                    answer = self.script(received)
                    if answer is None:
                        return
                    for piece in [answer] if isinstance(answer, bytes) else answer:
                        connection.sendall(piece)
                    if not isinstance(answer, bytes) and not piece.endswith(b"0\r\n\r\n"):
                        return
            except (OSError, ValueError):
                return  # the client hung up, or the test is over

    def _read(self, incoming: object, number: int) -> ReceivedRequest | None:
        line = incoming.readline().decode()  # type: ignore[attr-defined]
        if not line:
            return None
        method, path, _ = line.split(" ", 2)
        headers = {}
        while (header := incoming.readline().decode().strip()) != "":  # type: ignore[attr-defined]
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = incoming.read(int(headers.get("content-length", 0)))  # type: ignore[attr-defined]
        return ReceivedRequest(method, path, headers, body, number, self._gone)

    def close(self) -> None:
        self._gone.set()
        for connection in self._open:
            connection.close()


@contextmanager
def serving(script: Script) -> Iterator[ScriptedServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = ScriptedServer(script, url=f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join(10)


def answer(status: int, document: object, **headers: str) -> bytes:
    """A whole answer with a JSON body; `retry_after="1"` becomes the header Retry-After."""
    kind = "application/problem+json" if status >= 400 else "application/json"
    return raw_response(status, msgspec.json.encode(document), content_type=kind, **headers)


def raw_response(status: int, body: bytes, **headers: str) -> bytes:
    given = {"Content-Length": str(len(body))} | {key.replace("_", "-"): value for key, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body


def chunks(status: int, *bodies: bytes, ended: bool = True) -> list[bytes]:
    """A streamed answer, each body a chunk; not `ended`: the connection breaks in the middle of it."""
    head = f"HTTP/1.1 {status} Said\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    pieces = [head, *(b"%x\r\n%b\r\n" % (len(body), body) for body in bodies)]
    return [*pieces, b"0\r\n\r\n"] if ended else pieces


def lines(*documents: object) -> bytes:
    return b"".join(msgspec.json.encode(document) + b"\n" for document in documents)


def job_document(name: str = "render", **fields: object) -> dict[str, object]:
    """A JobView as the API sends it."""
    return {
        "name": name,
        "namespace": "default",
        "id": 7,
        "run": 1,
        "state": "pending",
        "type": "batch",
        "count": 1,
        "counts": {"queued": 1},
        "priority": 50,
        "submitted_at": "2026-01-02T03:04:05.678Z",
        **fields,
    }
