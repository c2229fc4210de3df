"""Handlers and routes of browser sessions: sign in, also at an issuer, sign out, one-time codes. Part of
`api.routes.table`."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from shunter.api.browser.session_cookies import check_origin, find_state, public_url, set_cookie, set_state_cookie
from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, encode
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.model.errors import Conflict, ShunterError, Unauthorized
from shunter.model.rest.identity_views import SessionCodeView, SessionView, SignInOptionsView
from shunter.model.schema.fields import text
from shunter.ports.gateway import CallerGateway

SESSIONS = f"{BASE}/sessions"
OIDC = f"{SESSIONS}/oidc"
CALLBACK = f"{OIDC}/callback"
OPTIONS = f"{SESSIONS}/options"
SIGN_INS = frozenset((OPTIONS, OIDC, CALLBACK))  # who asks for these has no credential yet
QUERY_TEXT_SIZE_MAX = 4_096
ERROR_SIZE_MAX = 400
NO_CREDENTIAL = "send the header `Authorization: Bearer TOKEN`, or a one-time code of `shunter ui`"


class SessionOpen(msgspec.Struct, forbid_unknown_fields=True):
    """Without a code, the header Authorization says who signs in."""

    code: str | None = None


_session_open = msgspec.json.Decoder(SessionOpen)


async def create_session(gateway: CallerGateway, exchange: Exchange) -> None:
    """A page of another site must not sign its visitors in."""
    if exchange.header(b"origin") is not None and not exchange.is_forwarded:
        check_origin(exchange.scope)
    body = await exchange.read_json(_session_open, default=SessionOpen())
    if body.code is not None:
        opened = await gateway.sign_in.redeem(body.code)
    elif gateway.caller.user and not exchange.session:
        opened = await gateway.sign_in.open()
    else:
        raise Unauthorized(NO_CREDENTIAL)
    cookie = set_cookie(exchange.scope, opened.cookie_name, opened.text, opened.lifetime_s)
    await exchange.respond(201, encode(opened.view), headers=[cookie])


async def delete_session(gateway: CallerGateway, exchange: Exchange) -> None:
    if not exchange.session:
        raise Conflict("this request has no session to end; a token is revoked with `shunter key revoke`")
    name, text = exchange.session
    await gateway.sign_in.end(text)
    exchange.extra_headers = ()  # not a renewed one
    await exchange.respond(204, headers=[set_cookie(exchange.scope, name, "", 0)])


async def create_code(gateway: CallerGateway, exchange: Exchange) -> SessionCodeView:
    """A session cannot make codes: it would outlive itself."""
    if exchange.session:
        raise Conflict("a session cannot make one-time codes; use a token, as `shunter ui` does")
    view = await gateway.sign_in.create_code()
    view.has_ui = exchange.context.has_ui()
    return view


async def get_options(gateway: CallerGateway, _exchange: Exchange) -> SignInOptionsView:
    return gateway.sign_in.options()


async def begin_oidc(gateway: CallerGateway, exchange: Exchange) -> None:
    """The state is in a cookie as well, so that nobody signs others in by a link."""
    scope = exchange.scope
    try:
        target, state = await gateway.sign_in.begin_oidc(public_url(scope, CALLBACK))
    except ShunterError as error:
        target, state = _error_page("../../../ui/", error), ""
    await _redirect(exchange, target, set_state_cookie(scope, CALLBACK, state))


async def finish_oidc(gateway: CallerGateway, exchange: Exchange) -> None:
    """Whatever happens, the browser ends at the web UI, whose page shows what went wrong."""
    scope, query, target = exchange.scope, exchange.query, "../../../../ui/"
    forget = set_state_cookie(scope, CALLBACK, "")
    try:
        if query["error"]:
            raise Unauthorized(f"the issuer refused: {query['error_description'] or query['error']}")
        code, state = query["code"] or "", query["state"] or ""
        opened = await gateway.sign_in.finish_oidc(code, state, find_state(scope), public_url(scope, CALLBACK))
    except ShunterError as error:
        await _redirect(exchange, _error_page(target, error), forget)
        return
    await _redirect(exchange, target, forget, set_cookie(scope, opened.cookie_name, opened.text, opened.lifetime_s))


async def _redirect(exchange: Exchange, target: str, *cookies: tuple[bytes, bytes]) -> None:
    await exchange.respond(303, headers=[(b"location", target.encode("latin-1")), *cookies])


def _error_page(page: str, error: ShunterError) -> str:
    return f"{page}#error={quote(error.detail[:ERROR_SIZE_MAX], safe='')}"


def _text_parameter(name: str, description: str) -> p.Parameter:
    return p.field_parameter(name, description, text(size_max=QUERY_TEXT_SIZE_MAX))


CALLBACK_QUERY = p.Query(
    (
        _text_parameter("code", "what the manager redeems for tokens"),
        _text_parameter("state", "that the sign-in began with"),
        _text_parameter("error", "why the issuer refused"),
        _text_parameter("error_description", "the same for people"),
    ),
    ignores_others=True,
)
SESSION_ROUTES = (
    Route(
        "POST", SESSIONS, "createSession", "Sign a browser in, with a token or a one-time code; sets a cookie",
        create_session, public=True, body=RequestBody(shape=SessionOpen, required=False),
        responses=(ResponseSpec(201, SessionView, description="Set-Cookie has the session"),),
        errors=(400, 401, 403, 413, 429, 503),
    ),
    Route(
        "DELETE", f"{SESSIONS}/current", "deleteSession", "Sign out: end the session of this request", delete_session,
        responses=(ResponseSpec(204),), errors=(409,),
    ),
    Route(
        "POST", f"{SESSIONS}/codes", "createSessionCode", "Make a one-time code that signs a browser in", create_code,
        responses=(ResponseSpec(201, SessionCodeView, description="valid for a minute, once"),), errors=(409,),
    ),
    Route(
        "GET", OPTIONS, "getSignInOptions", "Show how users sign in, besides with tokens", get_options, public=True,
        responses=(ResponseSpec(200, SignInOptionsView),), answered_by=AnsweredBy.RECEIVER,
    ),
    Route(
        "GET", OIDC, "beginOidcSignIn", "Send a browser to the OpenID Connect issuer to sign in", begin_oidc,
        public=True, responses=(ResponseSpec(303, description="to the issuer, or to the web UI with an error"),),
        answered_by=AnsweredBy.RECEIVER,
    ),
    Route(
        "GET", CALLBACK, "finishOidcSignIn", "Open the session of a browser that comes back from the issuer",
        finish_oidc, public=True, query=CALLBACK_QUERY, answered_by=AnsweredBy.RECEIVER, errors=(400,),
        responses=(ResponseSpec(303, description="to the web UI; Set-Cookie has the session"),),
    ),
)  # fmt: skip
