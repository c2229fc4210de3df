"""Handlers and routes of secrets. No answer contains a value. Part of the table in `api.routes.table`."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json
from shunter.api.http.references import parse_name
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.model.rest.secret_fields import SECRET_PUT
from shunter.model.rest.secret_views import KeyRotation, SecretPage, SecretView
from shunter.model.schema.problems import Problems
from shunter.ports.gateway import CallerGateway


async def list_secrets(gateway: CallerGateway, exchange: Exchange) -> SecretPage:
    query = exchange.query
    return await gateway.secrets.list(query["namespace"], query["limit"], query["after"])


async def set_secret(gateway: CallerGateway, exchange: Exchange) -> SecretView:
    problems = Problems()
    body = SECRET_PUT.read(await exchange.read_json(any_json), "body", problems)
    problems.raise_any()
    return await gateway.secrets.set(exchange.query["namespace"], _name(exchange), body["value"])


async def delete_secret(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.secrets.delete(exchange.query["namespace"], _name(exchange))


async def rotate_secrets_key(gateway: CallerGateway, _exchange: Exchange) -> KeyRotation:
    return await gateway.secrets.rotate_key()


def _name(exchange: Exchange) -> str:
    return parse_name(exchange.path_params["secret"], "path.secret")


IN_NAMESPACE = p.Query((p.NAMESPACE,))
SECRET_ROUTES = (
    Route(
        "GET", f"{BASE}/secrets", "listSecrets", "List the secrets of a namespace, without their values", list_secrets,
        responses=(ResponseSpec(200, SecretPage),), query=p.Query((p.NAMESPACE, p.LIMIT, p.AFTER)), errors=(400,),
    ),
    Route(
        "PUT", f"{BASE}/secrets/{{secret}}", "setSecret", "Create a secret, or give it another value", set_secret,
        responses=(ResponseSpec(200, SecretView),), body=RequestBody(component="SecretPut"), query=IN_NAMESPACE,
        errors=(400, 409, 413),
    ),
    Route(
        "DELETE", f"{BASE}/secrets/{{secret}}", "deleteSecret", "Delete a secret", delete_secret,
        responses=(ResponseSpec(204),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "POST", f"{BASE}/secrets-key/rotate", "rotateSecretsKey", "Encrypt all secrets with another key",
        rotate_secrets_key, responses=(ResponseSpec(200, KeyRotation),), errors=(409,),
    ),
)  # fmt: skip
