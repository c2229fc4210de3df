"""Handlers and routes of users, API keys, join tokens and the caller. Part of the table in `api.routes.table`."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json
from shunter.api.http.references import parse_name
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.roles import Role
from shunter.model.rest.identity_fields import (
    ENROLMENT,
    JOIN_TOKEN_CREATE,
    JOIN_TOKEN_LIFETIME_S,
    KEY_CREATE,
    KEY_ROTATE,
    OVERLAP_DEFAULT_S,
    USER_PUT,
)
from shunter.model.rest.identity_views import (
    EnrolmentView,
    JoinTokenPage,
    KeyPage,
    MeView,
    NewJoinTokenView,
    NewKeyView,
    UserPage,
    UserView,
)
from shunter.model.schema.fields import Section
from shunter.model.schema.problems import Problems
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import NewKey


async def get_me(gateway: CallerGateway, _exchange: Exchange) -> MeView:
    return await gateway.identity.me()


async def list_users(gateway: CallerGateway, exchange: Exchange) -> UserPage:
    return await gateway.identity.users(exchange.query["limit"], exchange.query["after"])


async def put_user(gateway: CallerGateway, exchange: Exchange) -> UserView:
    name = parse_name(exchange.path_params["user"], "path.user")
    body = await _read(exchange, USER_PUT)
    roles = _roles(body["roles"]) if body["roles"] else None
    return await gateway.identity.put_user(name, roles, body["disabled"], body["tenant"])


async def list_keys(gateway: CallerGateway, exchange: Exchange) -> KeyPage:
    return await gateway.identity.keys(exchange.query["limit"], exchange.query["after"])


async def create_key(gateway: CallerGateway, exchange: Exchange) -> NewKeyView:
    body = await _read(exchange, KEY_CREATE)
    new = NewKey(
        _roles(body["roles"]),
        body["user"],
        body["note"] or "",
        body["expires_in"],
        body["tenant"],
        body["testbeds"] or (),
        body["namespace"],
        body["queue"],
    )
    return await gateway.identity.create_key(new)


async def rotate_key(gateway: CallerGateway, exchange: Exchange) -> NewKeyView:
    overlap_s = (await _read(exchange, KEY_ROTATE))["overlap"]
    overlap_s = OVERLAP_DEFAULT_S if overlap_s is None else overlap_s
    return await gateway.identity.rotate_key(_key(exchange), overlap_s)


async def revoke_key(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.identity.revoke_key(_key(exchange))


async def list_join_tokens(gateway: CallerGateway, exchange: Exchange) -> JoinTokenPage:
    return await gateway.join_tokens.page(exchange.query["limit"], exchange.query["after"])


async def create_join_token(gateway: CallerGateway, exchange: Exchange) -> NewJoinTokenView:
    body = await _read(exchange, JOIN_TOKEN_CREATE)
    lifetime_s = JOIN_TOKEN_LIFETIME_S if body["expires_in"] is None else body["expires_in"]
    return await gateway.join_tokens.create(body["node"], lifetime_s)


async def revoke_join_token(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.join_tokens.revoke(parse_name(exchange.path_params["token"], "path.token"))


async def enrol_worker(gateway: CallerGateway, exchange: Exchange) -> EnrolmentView:
    """The body has the credential: whoever asks has no other one yet."""
    body = await _read(exchange, ENROLMENT)
    try:
        request = base64.b64decode(body["request"], validate=True)
    except binascii.Error:
        raise Invalid([Problem("body.request", "is not base64", None, "send the request as DER in base64")]) from None
    return await gateway.join_tokens.enrol(body["id"], body["secret"], request)


def _key(exchange: Exchange) -> str:
    return parse_name(exchange.path_params["key"], "path.key")


def _roles(words: tuple[str, ...]) -> tuple[Role, ...]:
    """In the order of the table, each once."""
    return tuple(role for role in Role if role in words)


async def _read(exchange: Exchange, section: Section) -> dict[str, Any]:
    problems = Problems()
    found = section.read(await exchange.read_json(any_json, default={}), "body", problems)
    problems.raise_any()
    return found


ENROLMENTS = f"{BASE}/enrolments"
PAGE = p.Query((p.LIMIT, p.AFTER))
IDENTITY_ROUTES = (
    Route(
        "GET", f"{BASE}/me", "getMe", "Show who the caller is, and its roles", get_me,
        responses=(ResponseSpec(200, MeView),),
    ),
    Route(
        "GET", f"{BASE}/users", "listUsers", "List users", list_users, responses=(ResponseSpec(200, UserPage),),
        query=PAGE, errors=(400,),
    ),
    Route(
        "PUT", f"{BASE}/users/{{user}}", "putUser", "Create, change or disable a user", put_user,
        responses=(ResponseSpec(200, UserView),), body=RequestBody(component="UserPut"), errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/keys", "listKeys", "List API keys, without their secrets", list_keys,
        responses=(ResponseSpec(200, KeyPage),), query=PAGE, errors=(400,),
    ),
    Route(
        "POST", f"{BASE}/keys", "createKey", "Create an API key; the answer shows it once", create_key,
        responses=(ResponseSpec(201, NewKeyView),), body=RequestBody(component="KeyCreate"),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/keys/{{key}}/rotate", "rotateKey", "Give an API key another secret; the answer shows it once",
        rotate_key, responses=(ResponseSpec(200, NewKeyView),),
        body=RequestBody(component="KeyRotate", required=False), errors=(400, 404, 413),
    ),
    Route(
        "DELETE", f"{BASE}/keys/{{key}}", "revokeKey", "Revoke an API key", revoke_key,
        responses=(ResponseSpec(204),), errors=(400, 404),
    ),
)  # fmt: skip
JOIN_TOKEN_ROUTES = (
    Route(
        "GET", f"{BASE}/join-tokens", "listJoinTokens", "List join tokens, without their secrets", list_join_tokens,
        responses=(ResponseSpec(200, JoinTokenPage),), query=PAGE, errors=(400,),
    ),
    Route(
        "POST", f"{BASE}/join-tokens", "createJoinToken",
        "Create a join token, with which one worker can enrol; the answer shows it once", create_join_token,
        responses=(ResponseSpec(201, NewJoinTokenView),), body=RequestBody(component="JoinTokenCreate"),
        errors=(400, 409, 413),
    ),
    Route(
        "DELETE", f"{BASE}/join-tokens/{{token}}", "revokeJoinToken", "Revoke a join token", revoke_join_token,
        responses=(ResponseSpec(204),), errors=(400, 404),
    ),
    Route(
        "POST", ENROLMENTS, "enrolWorker", "Sign the certificate of a worker that has a join token", enrol_worker,
        public=True, responses=(ResponseSpec(200, EnrolmentView),), body=RequestBody(component="Enrolment"),
        errors=(400, 401, 409, 413, 429, 503),
    ),
)  # fmt: skip
