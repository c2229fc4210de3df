"""A client of the Kubernetes API on aiohttp: documents in and out, with the errors of `model.errors`.

It knows nothing of what is in the documents. Every update carries the version that it is based on, so a change by
somebody else in between is a Conflict and never lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from shunter.kube.client.connection import Connection
from shunter.model.errors import (
    Busy,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Problem,
    Rejected,
    ShunterError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from shunter.model.objects.object_meta import Document, ObjectName

PAGE_ITEMS = 500
ANSWER_BYTES_MAX = 64 * 2**20  # of one page
LINE_BYTES_MAX = 4 * 2**20  # of one event: etcd stores at most 1.5 MiB of an object
CONNECT_MAX_S = 5.0
REQUEST_MAX_S = 30.0
WATCH_S = 290  # then the server ends a watch, and a new one continues
EXEC_PROTOCOL, STATUS_CHANNEL = "v5.channel.k8s.io", 3
EXEC_OUTPUT_MAX = 4096  # bytes
FIELD_MANAGER = "shunter-operator"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"
_DRY_RUN = {"dryRun": "All"}


@dataclass(frozen=True, slots=True)
class Resource:
    group: str  # empty: the core group
    version: str
    plural: str
    is_namespaced: bool = True

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str = "") -> str:
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{quote(namespace, safe='')}" if self.is_namespaced and namespace is not None else ""
        end = f"/{quote(name, safe='')}" if name is not None else ""
        return f"{base}{scope}/{self.plural}{end}{f'/{subresource}' if subresource else ''}"


PODS = Resource("", "v1", "pods")


@dataclass(frozen=True, slots=True)
class WatchEvent:
    type: str  # ADDED | MODIFIED | DELETED | BOOKMARK
    document: Document


class KubeApi:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session: aiohttp.ClientSession | None = None
        self._events = msgspec.json.Decoder()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    # ---- reading ----

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Document:
        return await self._ask("GET", resource.path(namespace, name))

    async def list(self, resource: Resource) -> tuple[list[Document], str]:
        """All items, page by page, and the version of the list, from which a watch goes on."""
        items: list[Document] = []
        parameters = {"limit": str(PAGE_ITEMS)}
        while True:
            page = await self._ask("GET", resource.path(), query=parameters)
            items += page.get("items") or ()
            metadata = page["metadata"]
            if not metadata.get("continue"):
                return items, metadata["resourceVersion"]
            parameters["continue"] = metadata["continue"]

    async def watch(self, resource: Resource, version: str) -> AsyncIterator[WatchEvent]:
        """All changes after that version, until the server ends the watch. Raises Gone if it has forgotten them."""
        parameters = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
        }
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_MAX_S, sock_read=WATCH_S + REQUEST_MAX_S)
        try:
            async with self._opened().get(
                self._url(resource.path()), params=parameters, headers=self._headers(), timeout=timeout
            ) as response:
                if response.status != 200:
                    raise error_of(response.status, self._decode(await _read(response)))
                async for line in _lines(response):
                    event = self._decode(line)
                    if event["type"] == "ERROR":
                        raise error_of(event["object"].get("code", 500), event["object"])
                    yield WatchEvent(event["type"], event["object"])
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    async def read_log(self, pod: ObjectName, container: str, *, follow: bool) -> AsyncIterator[bytes]:
        """The output of a container from its beginning; with `follow` until it ends."""
        path = PODS.path(pod.namespace, pod.name, "log")
        parameters = {"container": container, "follow": "true" if follow else "false"}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_MAX_S)
        try:
            async with self._opened().get(
                self._url(path), params=parameters, headers=self._headers(), timeout=timeout
            ) as response:
                if response.status != 200:
                    raise error_of(response.status, self._decode(await _read(response)))
                async for chunk in response.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    async def execute(self, pod: ObjectName, container: str, command: Sequence[str]) -> tuple[int, str]:
        """Run a command in a container: its exit code and the end of its output."""
        path = PODS.path(pod.namespace, pod.name, "exec")
        parameters = [("container", container), ("stdout", "true"), ("stderr", "true")]
        parameters += [("command", word) for word in command]
        output = bytearray()
        try:
            async with self._opened().ws_connect(
                self._url(path), params=parameters, headers=self._headers(accept="*/*"), protocols=[EXEC_PROTOCOL]
            ) as socket:
                async for message in socket:
                    if not isinstance(message.data, bytes) or not message.data:
                        continue
                    channel, data = message.data[0], message.data[1:]
                    if channel == STATUS_CHANNEL:
                        return _exit_code(self._decode(data)), output[-EXEC_OUTPUT_MAX:].decode(errors="replace")
                    output += data
                    del output[:-EXEC_OUTPUT_MAX]
        except aiohttp.WSServerHandshakeError as error:
            raise error_of(error.status, {"message": f"exec in pod {pod}: {error.status} {error.message}"}) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None
        raise Unavailable(f"exec in pod {pod} ended without a status")

    # ---- writing ----

    async def create(
        self, resource: Resource, document: Document, subresource: str = "", *, is_dry_run: bool = False
    ) -> Document:
        """A dry run checks everything and changes nothing; so it does for `replace`."""
        metadata = document["metadata"]
        name = metadata["name"] if subresource else None
        path = resource.path(metadata.get("namespace"), name, subresource)
        return await self._write("POST", path, document, query=_DRY_RUN if is_dry_run else None)

    async def replace(
        self, resource: Resource, document: Document, subresource: str = "", *, is_dry_run: bool = False
    ) -> Document:
        """Raises Conflict if the document is not based on the current version."""
        metadata = document["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self._write("PUT", path, document, query=_DRY_RUN if is_dry_run else None)

    async def apply(self, resource: Resource, document: Document) -> Document:
        """Server-side apply: creates the object, or changes the fields of it that we own."""
        metadata = document["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"])
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self._write("PATCH", path, document, _APPLY, query)

    async def patch(
        self, resource: Resource, name: str, namespace: str, part: Document, subresource: str = ""
    ) -> Document:
        """Merge a part into a document, whatever its version is."""
        return await self._write("PATCH", resource.path(namespace, name, subresource), part, _MERGE)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        grace_s: int | None = None,
    ) -> Document:
        """Only the object with this uid, where one is given. `grace_s` is that of a pod, instead of its own."""
        options: Document = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        options |= {} if uid is None else {"preconditions": {"uid": uid}}
        options |= {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        return await self._write("DELETE", resource.path(namespace, name), options)

    async def _write(
        self, method: str, path: str, document: Document, type: str = _JSON, query: Mapping[str, str] | None = None
    ) -> Document:
        return await self._ask(method, path, document, type, query)

    # ---- requests ----

    async def _ask(
        self,
        method: str,
        path: str,
        document: Document | None = None,
        type: str = _JSON,
        query: Mapping[str, str] | None = None,
    ) -> Document:
        body = None if document is None else msgspec.json.encode(document)
        timeout = aiohttp.ClientTimeout(total=REQUEST_MAX_S, sock_connect=CONNECT_MAX_S)
        headers = self._headers() | ({} if body is None else {"content-type": type})
        try:
            async with self._opened().request(
                method, self._url(path), params=query, data=body, headers=headers, timeout=timeout
            ) as response:
                answer = self._decode(await _read(response))
                if response.status >= 300:
                    raise error_of(response.status, answer)
                found: Document = answer
                return found
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ssl=self._connection.tls)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _url(self, path: str) -> str:
        return self._connection.url + path

    def _headers(self, accept: str = _JSON) -> dict[str, str]:
        token = self._connection.read_token()
        return {"accept": accept, **({"authorization": f"Bearer {token}"} if token else {})}

    def _decode(self, body: bytes) -> Any:
        try:
            return self._events.decode(body)
        except msgspec.DecodeError:
            return {"message": body[:200].decode(errors="replace")}

    def _unreachable(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"the Kubernetes API at {self._connection.url} did not answer: {error or type(error).__name__}"
        )


_ERRORS: dict[int, type[Rejected]] = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Gone}


def error_of(status: int, answer: Any) -> ShunterError:
    """The error of an answer, which is a Status of Kubernetes."""
    document = answer if isinstance(answer, dict) else {}
    message = document.get("message") or f"the Kubernetes API answered {status}"
    if status in (400, 422):
        causes = (document.get("details") or {}).get("causes") or ()
        problems = [Problem(cause.get("field", ""), cause.get("message", "")) for cause in causes]
        return Invalid(problems or [Problem("document", message)])
    if status == 413:
        return TooLarge(message)
    if status == 429:
        return Busy(message, float((document.get("details") or {}).get("retryAfterSeconds") or 1))
    known = _ERRORS.get(status)
    return known(message) if known is not None else Unavailable(message)


def _exit_code(status: Any) -> int:
    """The exit code in the Status with which an exec ends."""
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or ()
    codes = [int(cause["message"]) for cause in causes if cause.get("reason") == "ExitCode"]
    if not codes:
        raise Invalid([Problem("command", status.get("message") or "could not be started")])
    return codes[0]


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            raise Unavailable(f"the Kubernetes API answered with more than {ANSWER_BYTES_MAX} bytes")
    return bytes(body)


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The lines of a watch, each one event. They may be longer than the buffer of aiohttp."""
    rest = bytearray()
    async for chunk in response.content.iter_any():
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line, start = bytes(rest) + chunk[start:end], end + 1
            rest.clear()
            if line:
                yield line
        rest += chunk[start:]
        if len(rest) > LINE_BYTES_MAX:
            raise Unavailable(f"the Kubernetes API sent an event of more than {LINE_BYTES_MAX} bytes")
