"""Requests from one manager to another, with aiohttp. Implements `ports.managers.ManagerClient`."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from yarl import URL

from shunter.model.audit.records import RefusedRequests
from shunter.model.audit.views import RefusedReport
from shunter.model.errors import NotLeader, Unavailable
from shunter.model.rest.cluster_views import StoppingView
from shunter.model.rest.manager_views import ManagerView
from shunter.ports.managers import ForwardedRequest, Headers

CONNECT_MAX_S = 1.0
ASK_MAX_S = 1.0
STOP_CLUSTER_MAX_S = 50.0  # less than clients wait for an answer
ANSWER_BYTES_MAX = 64 * 2**10
CHUNK_BYTES_MAX = 64 * 2**10
# Connections are reused; one that the other side has just closed must not carry a request whose repeat is unsafe.
KEEP_ALIVE_S = 10.0
NO_TOTAL = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_MAX_S)
STOP_PATH = "/api/v1/cluster/down"
REFUSED_PATH = "/api/v1/audit/refused"
DESCRIBE_PATH = "/api/v1/managers/self"


class HttpManagerClient:
    """`token` returns the cluster's, which all managers share; it is used for the client's own questions only.
    `tls` returns whom to trust now; None: the managers speak HTTP."""

    def __init__(self, token: Callable[[], str], tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        self._token, self._tls = token, tls
        self._session: aiohttp.ClientSession | None = None
        self._decoder = msgspec.json.Decoder(ManagerView)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @asynccontextmanager
    async def send(self, url: str, request: ForwardedRequest) -> AsyncIterator[Response]:
        headers = [(str(name, "latin-1"), str(value, "latin-1")) for name, value in request.headers]
        target = URL(url + request.target, encoded=True)
        try:
            response = await self._opened().request(
                request.method,
                target,
                headers=headers,
                data=request.body,
                allow_redirects=False,
                ssl=self._context(),
            )
        except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
            raise NotLeader(
                f"the leader cannot be reached ({_cause(error)}); nothing was accepted, try again"
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"the leader did not answer ({_cause(error)}); try again") from None
        try:
            yield Response(response)
        finally:
            response.close()

    async def stop(self, url: str, *, leave_running: bool, is_whole_cluster: bool) -> list[str]:
        body = msgspec.json.encode({"leave_running": leave_running, "cluster": is_whole_cluster})
        max_s = STOP_CLUSTER_MAX_S if is_whole_cluster else ASK_MAX_S
        try:
            answer = msgspec.json.decode(await self._ask("POST", url + STOP_PATH, body, max_s), type=StoppingView)
        except msgspec.DecodeError as error:
            raise Unavailable(f"{url} did not answer ({error})") from None
        return answer.not_stopped

    async def report_refused(self, url: str, refused: Sequence[RefusedRequests]) -> None:
        await self._ask("POST", url + REFUSED_PATH, msgspec.json.encode(RefusedReport(list(refused))))

    async def describe(self, url: str) -> ManagerView:
        try:
            return self._decoder.decode(await self._ask("GET", url + DESCRIBE_PATH))
        except msgspec.DecodeError as error:
            raise Unavailable(f"{url} did not answer ({error})") from None

    async def _ask(self, method: str, url: str, body: bytes | None = None, max_s: float = ASK_MAX_S) -> bytes:
        """A question of this manager's own, with a small answer."""
        headers = {"authorization": f"Bearer {self._token()}"}
        try:
            async with (
                asyncio.timeout(max_s),
                self._opened().request(method, url, headers=headers, data=body, ssl=self._context()) as response,
            ):
                if response.status >= 300:
                    raise Unavailable(f"{url} answered {response.status}")
                return await _read_answer(url, response)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unavailable(f"{url} did not answer ({_cause(error)})") from None

    def _context(self) -> ssl.SSLContext | bool:
        return True if self._tls is None else self._tls()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=NO_TOTAL, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
            )  # fmt: skip
        return self._session


class Response:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Headers:
        return self._response.raw_headers

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"the leader's answer was cut short ({_cause(error)})") from None


async def _read_answer(url: str, response: aiohttp.ClientResponse) -> bytes:
    """The whole body, which may come in several chunks."""
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > ANSWER_BYTES_MAX:
            raise Unavailable(f"{url} answered with more than {ANSWER_BYTES_MAX} bytes")
    return bytes(answer)


def _cause(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return os.strerror(error.os_error.errno) if error.os_error.errno else str(error.os_error)
    return str(error) or type(error).__name__
