"""The ASGI application: authenticates, finds the route and answers. Every error is answered as problem+json.

`build_app` builds it on a Gateway; `api.http.server` serves it. It holds no state of the cluster. A listener defines
which routes it serves and whether it requires a token."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from shunter.api.audit.http_origin import origin_of, proven_source, source_address
from shunter.api.audit.refusals import RefusalCounter
from shunter.api.browser.session_cookies import SAFE_METHODS, check_origin, find_sessions, set_cookie
from shunter.api.browser.ui_pages import UiPages, is_ui_path
from shunter.api.http.credentials import EXTERNAL_CALLER, NO_TOKEN, bearer_token
from shunter.api.http.entity_tags import EntityTags
from shunter.api.http.exchange import (
    SESSION_HEADER,
    Context,
    Exchange,
    Receive,
    RequestAborted,
    Scope,
    Send,
    encode,
    find_header,
)
from shunter.api.http.forwarding import Forwarder, read_min_version
from shunter.api.http.large_yaml import YamlParser
from shunter.api.http.openapi import openapi_document
from shunter.api.http.origins import check_local, cors_headers
from shunter.api.http.permission_watch import PermissionWatch
from shunter.api.http.problems import CONTENT_TYPE, MethodNotAllowed, UpgradeRequired, problem_document, problem_headers
from shunter.api.http.request_limits import RequestLimiter
from shunter.api.http.routing import AnsweredBy, Route, RouteMatch, Router
from shunter.api.http.web_sockets import WebSockets
from shunter.api.limits.body_budget import BODIES_BYTES_MAX, OPEN_BODIES_BYTES_MAX, OPEN_BODY_SIZE_MAX, BodyBudget
from shunter.api.limits.failed_attempts import FailedAttempts, source_of
from shunter.api.routes.external import BASE as EXTERNAL
from shunter.api.routes.external import EXTERNAL_ROUTES
from shunter.api.routes.identity import ENROLMENTS
from shunter.api.routes.sessions import SESSIONS, SIGN_INS
from shunter.api.routes.table import ROUTES
from shunter.api.tracing.requests import TRACEPARENT_HEADER, traced_request
from shunter.log import Log
from shunter.model.errors import Busy, NoApi, NotFound, ShunterError, Unauthorized, Unavailable
from shunter.model.identity.keys import parse_key
from shunter.model.identity.sessions import LIFETIME_S as SESSION_LIFETIME_S
from shunter.model.identity.sessions import parse_session
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.metrics.response_counter import ResponseCounter
from shunter.ports.gateway import Gateway
from shunter.ports.managers import ManagerClient
from shunter.ports.principals import Principal
from shunter.ports.schedulers import in_session
from shunter.ports.security.audit import request_of
from shunter.ports.tracing.tracer import Tracer

PROTECTED = ("/api", "/metrics", EXTERNAL)
WEBSOCKET = "/scheduler"
NO_API = "this manager has no api role and serves no clients; `shunter managers` lists those that do"
ANONYMOUS = Principal("", frozenset())
log = Log(__name__)


@dataclass(frozen=True, slots=True)
class ApiSettings:
    heartbeat_s: float = 15.0  # of event streams
    requests_max: int = 4096  # at once, streams included; for each listener
    bodies_bytes_max: int = BODIES_BYTES_MAX  # of all requests together
    serves_clients: bool = True  # and not only other managers, which forward requests to the leader
    absent_is_304: bool = False  # of DELETE /external/schedulings/NAME, as the reference implementation answers


@dataclass(frozen=True, slots=True)
class Listener:
    """An open listener asks for no token, and serves programs and web pages of this machine only. Its bodies are small,
    and have a budget of their own."""

    routes: tuple[Route, ...] = ROUTES
    is_open: bool = False
    hint: str = "GET /api/v1/openapi.json lists all paths"


_EXTERNAL_HINT = (
    f"the paths are {EXTERNAL}/testbeds, {EXTERNAL}/jobs, {EXTERNAL}/schedulings and the WebSocket {WEBSOCKET}"
)
EXTERNAL_LISTENER = Listener(EXTERNAL_ROUTES, hint=_EXTERNAL_HINT)
OPEN_EXTERNAL_LISTENER = Listener(EXTERNAL_ROUTES, is_open=True, hint=_EXTERNAL_HINT)


def build_app(
    gateway: Gateway,
    settings: ApiSettings | None = None,
    listener: Listener | None = None,
    shared_with: App | None = None,
    client: ManagerClient | None = None,
    limiter: RequestLimiter | None = None,
    ui: UiPages | None = None,
    responses: ResponseCounter | None = None,
    tracer: Tracer | None = None,
) -> App:
    """`shared_with`: the application of another listener, with which this one shares the STOMP hub and limits.
    `client` reaches the other managers; a manager that is alone needs none. Without a `limiter`, callers may send as
    many requests as they like. Without `ui`, it serves no web UI."""
    settings = settings or ApiSettings()
    if shared_with is not None:
        shared = shared_with.shared
    else:
        attempts = FailedAttempts()
        refusals = RefusalCounter()
        stomp = WebSockets(gateway, attempts, refusals)
        shared = Shared(stomp, YamlParser(), BodyBudget(settings.bodies_bytes_max), attempts, refusals)
    forwarder = None if client is None else Forwarder(gateway.replication, client, gateway.sign_source)
    return App(
        gateway,
        settings,
        listener or Listener(),
        shared,
        forwarder,
        limiter,
        ui,
        responses or ResponseCounter(),
        tracer,
    )


@dataclass(frozen=True, slots=True)
class Shared:
    """What the applications of all listeners share."""

    stomp: WebSockets
    yaml: YamlParser
    bodies: BodyBudget
    attempts: FailedAttempts
    refusals: RefusalCounter


class App:
    def __init__(
        self,
        gateway: Gateway,
        settings: ApiSettings,
        listener: Listener,
        shared: Shared,
        forwarder: Forwarder | None,
        limiter: RequestLimiter | None,
        ui: UiPages | None,
        responses: ResponseCounter,
        tracer: Tracer | None = None,
    ) -> None:
        self.shared, self._responses, self._tracer = shared, responses, tracer
        self._forwarder, self._limiter, self._ui = forwarder, limiter, ui
        self._gateway = gateway
        self._tags = EntityTags(gateway.replication)
        self._permissions = PermissionWatch(gateway.authenticate)
        self._settings = settings
        self._listener = listener
        self._router = Router(listener.routes)
        self.bodies = BodyBudget(OPEN_BODIES_BYTES_MAX, reserve_bytes=0) if listener.is_open else shared.bodies
        self._context = Context(
            settings.heartbeat_s,
            cache(_encode_openapi),
            shared.yaml,
            self.bodies,
            OPEN_BODY_SIZE_MAX if listener.is_open else None,
            (lambda: False) if ui is None else ui.is_built,
            settings.absent_is_304,
        )
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
            return
        assert scope["type"] == "http"
        exchange = Exchange(scope, receive, send, self._context, self._gateway.replication)
        if self._listener.is_open:
            exchange.extra_headers = cors_headers(scope)
        self._requests += 1
        try:
            await self._handle(exchange)
        except ShunterError as error:
            await _send_error(exchange, error)
        except RequestAborted:
            pass
        except asyncio.CancelledError:  # the server stops; the request's task ends here anyway
            await _send_error(exchange, Unavailable("the manager is stopping"))
        except Exception:
            log.exception("request.failed", method=scope["method"], path=scope["path"])
            await _send_error(exchange, ShunterError("internal error; see the log of the manager"))
        finally:
            exchange.release_body()
            self._requests -= 1
            self._responses.add(exchange.status)
            if exchange.status >= 400:
                self._count_refusal(exchange)

    def _count_refusal(self, exchange: Exchange) -> None:
        if exchange.secret_source and exchange.status == Unauthorized.status:
            with suppress(Busy):  # it was answered
                self.shared.attempts.failed(exchange.secret_source)
        if not exchange.is_relayed:
            source = source_address(exchange, self._gateway.sign_source)
            is_write = exchange.scope["method"] not in SAFE_METHODS
            self.shared.refusals.add(source, exchange.status, exchange.operation, exchange.caller, is_write=is_write)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._settings.serves_clients:
            await self.shared.stomp.serve(scope, receive, send, is_open=self._listener.is_open)
            return
        from shunter.api.stomp.server import refuse

        await receive()
        await refuse(send, 503, NO_API)

    async def _handle(self, exchange: Exchange) -> None:
        path = exchange.scope["path"]
        if self._ui is not None and self._settings.serves_clients and is_ui_path(path):
            self._check_busy()
            await self._ui.serve(exchange)
            return
        caller = exchange.caller = await self._find_caller(exchange)
        self._check_busy()
        found = self._router.find(path.rstrip("/") if path.startswith(EXTERNAL) else path)
        if found is None and caller is None:
            raise Unauthorized(NO_TOKEN)
        if found is None:
            if path.rstrip("/") == WEBSOCKET:
                raise UpgradeRequired(f"{WEBSOCKET} is a STOMP WebSocket; connect with a STOMP client")
            raise NotFound(f"path {path[:200]} does not exist; {self._listener.hint}")
        await self._dispatch(exchange, found, caller)

    def _check_busy(self) -> None:
        if self._requests > self._settings.requests_max:
            raise Busy(f"more than {self._settings.requests_max} requests are in progress")

    async def _find_caller(self, exchange: Exchange) -> Principal | None:
        """None if only the leader can tell. Raises Unauthorized, Forbidden, Unavailable."""
        scope = exchange.scope
        if self._listener.is_open:
            check_local(scope)
            return EXTERNAL_CALLER
        if not scope["path"].startswith(PROTECTED):
            return ANONYMOUS
        has_token = find_header(scope, b"authorization") is not None
        if scope["path"] in SIGN_INS and scope["method"] == "GET":
            return ANONYMOUS
        if scope["path"] in (SESSIONS, ENROLMENTS) and scope["method"] == "POST" and not has_token:
            source, is_shared = self._source_of(exchange)
            self.shared.attempts.check(source, "", is_shared=is_shared)
            exchange.secret_source = source  # the body has a one-time code, or the secret of a join token
            return ANONYMOUS
        exchange.credential = bearer_token(scope) if has_token else self._find_session(exchange)
        caller = await self._authenticate(exchange) if exchange.credential else None
        if caller is None and not self._may_be_new_key(exchange.credential):
            raise Unauthorized(self._gateway.explain_refusal(exchange.credential) or NO_TOKEN)
        if exchange.session is not None and scope["method"] not in SAFE_METHODS and not exchange.is_forwarded:
            check_origin(scope)
        return caller

    async def _authenticate(self, exchange: Exchange) -> Principal | None:
        """Raises Busy if too many wrong credentials came from there, and Unavailable if nobody can tell."""
        source, is_shared = self._source_of(exchange)
        self.shared.attempts.check(source, exchange.credential, is_shared=is_shared)
        await self._gateway.prepare(exchange.credential)
        caller = self._gateway.authenticate(exchange.credential)
        if caller is not None:
            self.shared.attempts.succeeded(source, exchange.credential)
        elif not self._may_be_new_key(exchange.credential):
            self.shared.attempts.failed(source)
        return caller

    def _source_of(self, exchange: Exchange) -> tuple[str, bool]:
        """The name under which wrong credentials are counted, and whether many users share it, like the address of a
        manager."""
        source, is_shared = source_of((exchange.scope.get("client") or ("",))[0])
        return source, is_shared or proven_source(exchange, self._gateway.sign_source) is not None

    def _find_session(self, exchange: Exchange) -> str:
        """The session of this cluster among the cookies. A session in use is renewed from time to time."""
        sessions = find_sessions(exchange.scope)
        known = (each for each in sessions if self._gateway.authenticate(each[1]) is not None)
        exchange.session = next(known, sessions[0] if sessions else None)
        if exchange.session is None:
            return ""
        name, text = exchange.session
        if (renewed := self._gateway.renew_session(text)) is not None:
            exchange.extra_headers = [set_cookie(exchange.scope, name, renewed, SESSION_LIFETIME_S)]
        return text

    def _may_be_new_key(self, text: str) -> bool:
        """Whether it is a key that the leader may know already, and this follower not yet."""
        if self._forwarder is None or not self._gateway.replication.is_following:
            return False
        return parse_key(text) is not None or parse_session(text) is not None

    async def _dispatch(self, exchange: Exchange, found: RouteMatch, caller: Principal | None) -> None:
        method = exchange.scope["method"]
        route = found.methods.get("GET" if method == "HEAD" else method)
        if caller is None and (route is None or route.answered_by is AnsweredBy.RECEIVER):
            raise Unauthorized(NO_TOKEN)
        if method == "OPTIONS":
            await exchange.respond(204, headers=[(b"allow", found.allowed.encode())])
            return
        if route is None:
            raise MethodNotAllowed(method, found.allowed)
        if not self._settings.serves_clients and not _is_for_any_manager(route, exchange):
            raise NoApi(NO_API)
        exchange.path_params, exchange.operation = found.path_params, route.name
        if caller is None:
            await self._forward_unknown(exchange)
        elif not await self._forward(exchange, route):
            await self._answer(exchange, route, caller)

    async def _forward_unknown(self, exchange: Exchange) -> None:
        """The leader may know the key, and answers whatever else is wrong. Raises Unauthorized."""
        if self._forwarder is None or not await self._forwarder.forward_unknown(exchange):
            raise Unauthorized(NO_TOKEN)

    async def _forward(self, exchange: Exchange, route: Route) -> bool:
        """Whether another manager has answered. Every manager reads the query, so that all refuse the same ones."""
        exchange.query = route.query.read(exchange.scope["query_string"])
        min_version = read_min_version(exchange)
        return self._forwarder is not None and await self._forwarder.forward(exchange, route, min_version)

    async def _answer(self, exchange: Exchange, route: Route, caller: Principal) -> None:
        if self._limiter is not None and not route.public:
            await self._limiter.check(caller, exchange)
        bound = self._gateway.for_caller(caller, route.name)
        if not caller.is_cluster_wide:
            _use_own_namespace(exchange, bound.identity.default_namespace())
        if not self._listener.is_open and not route.public:
            exchange.permission = self._permissions.of(exchange.credential, caller)
        if route.is_tagged and not exchange.query.get("watch") and await self._is_unchanged(exchange, caller):
            await exchange.respond(304)
            return
        session = exchange.header(SESSION_HEADER) or ""
        if session:
            schedulers = self._gateway.for_caller(caller, "renewExternalSession").schedulers
            schedulers.saw(session, is_read=route.method == "GET")
        if route.method == "GET":
            result = await route.handle(bound, exchange)
        else:
            origin = origin_of(exchange, route, caller, self._gateway.sign_source)
            trace = traced_request(self._tracer, exchange.header(TRACEPARENT_HEADER), route.name)
            with request_of(origin), in_session(session), trace:
                result = await route.handle(bound, exchange)
        if not exchange.started:
            await exchange.respond(route.responses[0].status, b"" if result is None else encode(result))

    async def _is_unchanged(self, exchange: Exchange, caller: Principal) -> bool:
        """Whether the client has the answer already. Sets the tag of the answer: what is rendered from now on is at
        least as new as it says. A leader whose lease is lost says neither."""
        await self._gateway.replication.wait_for_version(0)
        known = exchange.header(b"if-none-match")
        current = None if known is None else self._tags.find_current(known, caller)
        exchange.tag = self._tags.issue(caller) if current is None else current.encode()
        return current is not None


def _use_own_namespace(exchange: Exchange, own: str) -> None:
    """The default namespace belongs to the cluster. To a tenant, the same word means the default one of its own."""
    for values in (exchange.query, exchange.path_params):
        if values.get("namespace") == NAMESPACE_DEFAULT:
            values["namespace"] = own


def _is_for_any_manager(route: Route, exchange: Exchange) -> bool:
    """Whether a manager that serves no clients answers it: another manager forwards it, or it is about this one."""
    return exchange.is_forwarded or route.public or route.answered_by is AnsweredBy.RECEIVER


async def _send_error(exchange: Exchange, error: ShunterError) -> None:
    """Once the answer has begun, an error cannot be sent: the connection ends without a proper end."""
    if not exchange.started:
        body = encode(problem_document(error))
        await exchange.respond(error.status, body, CONTENT_TYPE, problem_headers(error))


def _encode_openapi() -> bytes:
    return encode(openapi_document(ROUTES))
