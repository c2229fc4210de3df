"""A thin client of etcd v3: calls with a time-out, tried at one member after the other, and streams. It lives in the
event loop of the coordination's thread. Leases, election, registry and watch are built on it.

All our requests may be repeated: a transaction names its lease, and a lease that nobody renews ends by itself."""

from __future__ import annotations

import asyncio
import random
import time

import grpc
import grpc.aio

from shunter.adapters.etcd.errors import EtcdSilent, EtcdUnavailable, NoAuthentication, TokenExpired, translate
from shunter.adapters.etcd.methods import AUTHENTICATE, Method, Request, Response
from shunter.adapters.etcd.settings import EtcdSettings, TlsFiles
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.proto.etcd import etcd_pb2 as pb

ATTEMPT_MIN_S, ATTEMPT_MAX_S = 0.5, 2.0  # how long one member may take to answer: a quarter of the TTL within these
MESSAGE_BYTES_MAX = 32 * 2**20  # far more than the records of all managers
SILENCE_S = 1.0  # for which a member that did not answer is not asked, as long as others answer, if only to refuse
RETRY_FIRST_S, RETRY_FACTOR, RETRY_MAX_S = 0.05, 2.0, 1.0

_OPTIONS: list[tuple[str, int]] = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    # gRPC reconnects by itself. Its own delays (1 s to 2 min; 20 s for one try) would outlast a lease.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.min_reconnect_backoff_ms", 1000),
]

log = Log(__name__)


class Endpoint:
    """One member of the etcd cluster."""

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None) -> None:
        self.address = address
        self.channel = (
            grpc.aio.insecure_channel(address, _OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, _OPTIONS)
        )


class EtcdClient:
    """Make and use it in one event loop."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.attempt_s = min(max(settings.ttl_s / 4, ATTEMPT_MIN_S), ATTEMPT_MAX_S)
        credentials = None if settings.tls is None else _read_credentials(settings.tls)
        self._endpoints = [Endpoint(address, credentials) for address in settings.endpoints]
        random.shuffle(self._endpoints)  # so that the managers spread over the members
        self._user, self._password = settings.user, settings.password
        self._token = ""
        self._needs_token = bool(settings.user)
        self._authenticating = asyncio.Lock()
        self._failed: set[str] = set()  # addresses whose last call failed
        self._silent_until: dict[str, float] = {}  # addresses that did not answer

    async def close(self) -> None:
        await asyncio.gather(*(endpoint.channel.close(None) for endpoint in self._endpoints))

    @property
    def endpoint(self) -> Endpoint:
        """The member that is asked first: the last one that answered, as far as is known."""
        return self._candidates()[0]

    @property
    def is_reachable(self) -> bool:
        """Whether a member answered, as far as is known."""
        return len(self._failed) < len(self._endpoints)

    def avoid(self, endpoint: Endpoint, reason: object) -> None:
        """Ask this member last from now on."""
        if isinstance(reason, EtcdSilent):
            self._silent_until[endpoint.address] = time.monotonic() + SILENCE_S
        if endpoint is self._endpoints[0]:
            self._endpoints.append(self._endpoints.pop(0))
        if endpoint.address not in self._failed:
            self._failed.add(endpoint.address)
            log.warning("etcd.member_failed", address=endpoint.address, reason=reason)

    async def call(self, method: Method[Request, Response], request: Request) -> Response:
        """Ask each member at most once, the best one first. Raises EtcdUnavailable if none answers.

        A member that hangs costs a time-out once in a while, not in every call: when it led, the others refuse until
        they have elected a leader, and a lease must be renewed soon after that."""
        reason = None
        for endpoint in self._candidates():
            try:
                return await self.call_at(endpoint, method, request)
            except EtcdUnavailable as error:
                self.avoid(endpoint, error)
                reason = error
        raise EtcdUnavailable(f"no member of etcd answered: {reason}") from reason

    def _candidates(self) -> list[Endpoint]:
        """Not those that were silent just now, unless all were."""
        now = time.monotonic()
        answering = [each for each in self._endpoints if self._silent_until.get(each.address, 0.0) <= now]
        return answering or list(self._endpoints)

    async def call_at(self, endpoint: Endpoint, method: Method[Request, Response], request: Request) -> Response:
        """Ask this member. With an old token, once more with a new one."""
        token = await self._get_token(endpoint)
        try:
            response = await self._call_with(token, endpoint, method, request)
        except TokenExpired:
            response = await self._call_again(token, endpoint, method, request)
        self._silent_until.pop(endpoint.address, None)
        if endpoint.address in self._failed:
            self._failed.discard(endpoint.address)
            log.info("etcd.member_answers", address=endpoint.address)
        return response

    async def open_stream(
        self, endpoint: Endpoint, method: Method[Request, Response]
    ) -> grpc.aio.StreamStreamCall[Request, Response]:
        token = await self._get_token(endpoint)
        make = endpoint.channel.stream_stream(
            method.path, method.request.SerializeToString, response_deserializer=method.response.FromString
        )
        call: grpc.aio.StreamStreamCall[Request, Response] = make(metadata=_metadata(token))  # type: ignore[call-arg]
        return call

    async def _call_again(
        self, token: str, endpoint: Endpoint, method: Method[Request, Response], request: Request
    ) -> Response:
        if self._token == token:
            self._token = ""
            self._needs_token = bool(self._user)  # users may have been enabled meanwhile
        try:
            return await self._call_with(await self._get_token(endpoint), endpoint, method, request)
        except TokenExpired as error:
            kind = EtcdUnavailable if self._user else Unauthorized
            raise kind(f"etcd at {endpoint.address}: {error}") from error

    async def _call_with(
        self, token: str, endpoint: Endpoint, method: Method[Request, Response], request: Request
    ) -> Response:
        make = endpoint.channel.unary_unary(
            method.path, method.request.SerializeToString, response_deserializer=method.response.FromString
        )
        try:
            response: Response = await make(request, timeout=self.attempt_s, metadata=_metadata(token))
            return response
        except grpc.aio.AioRpcError as error:
            raise translate(error, endpoint.address) from error

    async def _get_token(self, endpoint: Endpoint) -> str:
        if not self._needs_token or self._token:
            return self._token
        async with self._authenticating:
            if self._needs_token and not self._token:
                request = pb.AuthenticateRequest(name=self._user, password=self._password)
                try:
                    self._token = (await self._call_with("", endpoint, AUTHENTICATE, request)).token
                except NoAuthentication:
                    self._needs_token = False
        return self._token


class Backoff:
    """Delays between repetitions: doubled each time; half of each is chance, so that managers do not come in step."""

    def __init__(self) -> None:
        self._delay_s = RETRY_FIRST_S

    def reset(self) -> None:
        self._delay_s = RETRY_FIRST_S

    async def wait(self) -> None:
        await asyncio.sleep(self._delay_s * random.uniform(0.5, 1.0))
        self._delay_s = min(self._delay_s * RETRY_FACTOR, RETRY_MAX_S)


def _metadata(token: str) -> tuple[tuple[str, str], ...]:
    """`hasleader`: a member that is cut off from the majority refuses, instead of showing the past."""
    return (("hasleader", "true"), *((("token", token),) if token else ()))


def _read_credentials(files: TlsFiles) -> grpc.ChannelCredentials:
    ca, key, cert = (path.read_bytes() if path else None for path in (files.ca, files.key, files.cert))
    return grpc.ssl_channel_credentials(ca, key, cert)
