"""Handlers and routes of browser sessions: sign in, sign out, one-time codes. Part of `api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.browser.session_cookies import check_origin, set_cookie
from shunter.api.http.exchange import Exchange, encode
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.model.errors import Conflict, Unauthorized
from shunter.model.rest.identity_views import SessionCodeView, SessionView
from shunter.ports.gateway import CallerGateway

SESSIONS = f"{BASE}/sessions"
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
)  # fmt: skip
