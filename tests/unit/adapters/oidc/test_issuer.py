"""The issuer: which tokens are accepted, when its keys are asked for, and what happens while it is away."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from shunter.adapters.oidc import issuer as issuer_module
from shunter.adapters.oidc.issuer import Issuer
from shunter.model.errors import Unauthorized, Unavailable
from shunter.model.identity.oidc import TOKEN_SIZE_MAX, ExternalUser, Grant, OidcSettings
from shunter.model.identity.roles import Role
from shunter.ports.security.token_issuer import PendingSignIn
from tests.fake_issuer import CLIENT_ID, FakeIssuer, running_issuer

ANNA = ExternalUser("anna", frozenset((Role.SUBMITTER,)))
GRANTS = (Grant("team", Role.SUBMITTER), Grant("red", Role.OPERATOR, "red"), Grant("ops", Role.OPERATOR))
SKEW_S = 30.0


@pytest.fixture
def fake() -> Iterator[FakeIssuer]:
    with running_issuer() as issuer:
        yield issuer


def settings_of(fake: FakeIssuer, **changes: Any) -> OidcSettings:
    given: dict[str, Any] = {"clock_skew_s": SKEW_S, **changes}
    return OidcSettings(fake.url, CLIENT_ID, (CLIENT_ID, "other"), GRANTS, **given)


@pytest.fixture
async def issuer(fake: FakeIssuer) -> AsyncIterator[Issuer]:
    issuer = Issuer(settings_of(fake), time.time)
    await issuer.learn_key(fake.token())
    yield issuer


@pytest.mark.parametrize("kind", ["RSA", "EC"])
async def test_a_token_of_a_published_key_is_accepted(fake: FakeIssuer, kind: str) -> None:
    fake.add_key("key-2", kind)
    issuer = Issuer(settings_of(fake), time.time)
    await issuer.learn_key(fake.token())
    assert issuer.find(fake.token()) == ANNA
    assert issuer.find(fake.token(aud=["account", "other"])) == ANNA
    assert issuer.problem == ""


def unsigned(fake: FakeIssuer) -> str:
    return f"{encoded({'alg': 'none', 'kid': 'key-1'})}.{encoded(fake.claims())}."


def signed_with_public_key(fake: FakeIssuer) -> str:
    """The text of the public key as an HMAC secret, which PyJWT itself refuses to use."""
    public = fake.keys["key-1"].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    import hashlib
    import hmac

    head = encoded({"alg": "HS256", "kid": "key-1", "typ": "JWT"}) + "." + encoded(fake.claims())
    signature = hmac.digest(pem, head.encode(), hashlib.sha256)
    return f"{head}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def encoded(document: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()


def with_claims(fake: FakeIssuer) -> str:
    """Other claims under the signature of before."""
    head, _, signature = fake.token().split(".")
    return f"{head}.{encoded(fake.claims(groups=['ops']))}.{signature}"


def of_another_key(fake: FakeIssuer) -> str:
    other = FakeIssuer()
    other.port = fake.port
    return other.token()


def of_the_other_algorithm(fake: FakeIssuer) -> str:
    """The key id is that of an RSA key, the signature is ES256."""
    other = FakeIssuer()
    other.port = fake.port
    other.add_key("key-1", "EC")
    return other.token("key-1")


def with_signature_removed(fake: FakeIssuer) -> str:
    return fake.token().rpartition(".")[0] + "."


BAD_TOKENS: dict[str, tuple[Callable[[FakeIssuer], str], str]] = {
    "expired": (lambda fake: fake.token(exp=int(time.time() - SKEW_S) - 1), "expired"),
    "without an end": (lambda fake: fake.token(exp=None), "never expires"),
    "with an end that is no time": (lambda fake: fake.token(exp="tomorrow"), "'exp'"),
    "with an endless end": (lambda fake: fake.token(exp=1e300), "'exp'"),
    "of the future": (lambda fake: fake.token(nbf=int(time.time() + SKEW_S) + 60), "not valid yet"),
    "issued in the future": (lambda fake: fake.token(iat=int(time.time() + SKEW_S) + 60), "not valid yet"),
    "for another audience": (lambda fake: fake.token(aud="account"), "audience"),
    "for nobody": (lambda fake: fake.token(aud=None), "audience"),
    "for an audience that is no text": (lambda fake: fake.token(aud={CLIENT_ID: 1}), "audience"),
    "of another issuer": (lambda fake: fake.token(iss="https://evil.example"), "another issuer"),
    "of no issuer": (lambda fake: fake.token(iss=None), "another issuer"),
    "not signed": (unsigned, "not signed"),
    "signed with the public key as a secret": (signed_with_public_key, "not signed with RS256"),
    "with other claims": (with_claims, "signature"),
    "of another key with the same id": (of_another_key, "signature"),
    "of another kind of key with the same id": (of_the_other_algorithm, "not signed with RS256"),
    "without its signature": (with_signature_removed, "signature"),
    "with an unknown key": (
        lambda fake: jwt.encode(fake.claims(), fake.keys["key-1"], "RS256", headers={"kid": "key-9"}),
        "does not publish",
    ),
    "without a key": (lambda fake: jwt.encode(fake.claims(), fake.keys["key-1"], "RS256"), "does not publish"),
    "with an extension": (
        lambda fake: jwt.encode(fake.claims(), fake.keys["key-1"], "RS256", headers={"kid": "key-1", "crit": ["b64"]}),
        "",
    ),
    "too long": (lambda fake: fake.token(more="x" * TOKEN_SIZE_MAX), "bytes"),
    "with a key id that is too long": (
        lambda fake: jwt.encode(fake.claims(), fake.keys["key-1"], "RS256", headers={"kid": "k" * 300}),
        "kid",
    ),
    "no token": (lambda _: "eyJ.e30.x", "not a signed token"),
    "a header of brackets": (lambda _: f"{base64.urlsafe_b64encode(b'[' * 9000).decode().rstrip('=')}.e30.x", "signed"),
    "claims that are a list": (
        lambda fake: jwt.PyJWS().encode(b"[1]", fake.keys["key-1"], "RS256", headers={"kid": "key-1"}),
        "no claims",
    ),
    "of a user in no group": (lambda fake: fake.token(groups=[]), "no group"),
    "of a user in strange groups": (lambda fake: fake.token(groups={"team": 1}), "no group"),
    "without a user": (lambda fake: fake.token(preferred_username=None), "preferred_username"),
    "of the admin": (lambda fake: fake.token(preferred_username="admin"), "admin token"),
    "of a user with a long name": (lambda fake: fake.token(preferred_username="a" * 129), "user name"),
    "of a user with a line break": (lambda fake: fake.token(preferred_username="a\nb"), "user name"),
}


@pytest.mark.parametrize("kind", BAD_TOKENS)
async def test_a_bad_token_is_refused_with_the_reason(fake: FakeIssuer, issuer: Issuer, kind: str) -> None:
    make, reason = BAD_TOKENS[kind]
    with pytest.raises(Unauthorized) as refused:
        issuer.find(make(fake))
    assert reason in refused.value.detail


async def test_clocks_may_differ_a_little(fake: FakeIssuer, issuer: Issuer) -> None:
    now_s = int(time.time())
    assert issuer.find(fake.token(exp=now_s - 5)) == ANNA
    assert issuer.find(fake.token(nbf=now_s + 20, iat=now_s + 20)) == ANNA


async def test_a_remembered_token_is_refused_when_it_has_expired(fake: FakeIssuer) -> None:
    now_s = [time.time()]
    issuer = Issuer(settings_of(fake), lambda: now_s[0])
    token = fake.token()
    await issuer.learn_key(token)
    assert issuer.find(token) == issuer.find(token) == ANNA
    now_s[0] += fake.lifetime_s + SKEW_S + 1
    with pytest.raises(Unauthorized, match="expired"):
        issuer.find(token)


@pytest.mark.parametrize(
    ("groups", "roles", "tenant"),
    [
        (["team", "ops"], {Role.SUBMITTER, Role.OPERATOR}, ""),
        (["red"], {Role.OPERATOR}, "red"),
        (["red", "ops"], {Role.OPERATOR}, "red"),  # the first grant of the settings decides
        ("team", {Role.SUBMITTER}, ""),
    ],
)
async def test_groups_give_roles_in_one_tenant(
    fake: FakeIssuer, issuer: Issuer, groups: object, roles: set[Role], tenant: str
) -> None:
    found = issuer.find(fake.token(groups=groups))
    assert (set(found.roles), found.tenant) == (roles, tenant)


async def test_groups_may_be_within_another_claim(fake: FakeIssuer) -> None:
    issuer = Issuer(settings_of(fake, groups_claim="realm_access.roles", user_claim="sub"), time.time)
    token = fake.token(groups=None, realm_access={"roles": ["ops"]})
    await issuer.learn_key(token)
    assert issuer.find(token) == ExternalUser("id-of-anna", frozenset((Role.OPERATOR,)))


async def test_a_new_key_is_fetched_and_an_old_one_is_refused(
    fake: FakeIssuer, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake.token()
    assert issuer.find(old) == ANNA
    del fake.keys["key-1"]
    fake.add_key("key-2")
    new = fake.token()
    fetched = len(fake.asked)
    await issuer.learn_key(new)
    assert len(fake.asked) == fetched  # it was asked just now
    with pytest.raises(Unauthorized, match="does not publish"):
        issuer.find(new)
    monkeypatch.setattr(issuer_module, "FETCH_AGAIN_S", 0.0)
    await issuer.learn_key(new)
    assert issuer.find(new) == ANNA
    with pytest.raises(Unauthorized, match="does not publish"):
        issuer.find(old)  # although it was accepted and remembered


async def test_invented_key_ids_make_no_more_requests_than_one(fake: FakeIssuer, issuer: Issuer) -> None:
    fetched = len(fake.asked)
    for number in range(20):
        await issuer.learn_key(jwt.encode({}, fake.keys["key-1"], "RS256", headers={"kid": f"invented-{number}"}))
    assert len(fake.asked) == fetched


async def test_known_keys_count_while_the_issuer_is_away(fake: FakeIssuer, issuer: Issuer) -> None:
    fake.stop()
    await issuer._refresh()
    assert "127.0.0.1" in issuer.problem
    assert issuer.find(fake.token()) == ANNA


async def test_tokens_are_unavailable_while_no_key_was_ever_fetched(fake: FakeIssuer) -> None:
    fake.stop()
    issuer = Issuer(settings_of(fake), time.time)
    with pytest.raises(Unavailable, match="cannot be asked for its keys"):
        await issuer.learn_key(fake.token())
    fake.start()
    await issuer._refresh()
    assert issuer.find(fake.token()) == ANNA and issuer.problem == ""


DISCOVERY, KEYS = "/realms/main/.well-known/openid-configuration", "/realms/main/keys"
BAD_ANSWERS = {
    "an error": (DISCOVERY, 500, b"{}", "answered 500"),
    "a redirection": (DISCOVERY, 302, b"{}", "answered 302"),
    "no JSON": (DISCOVERY, 200, b"<html>", "JSON object"),
    "a list": (DISCOVERY, 200, b"[]", "JSON object"),
    "brackets": (DISCOVERY, 200, b"[" * 100_000, "JSON object"),
    "too much": (DISCOVERY, 200, b" " * 300_000, "more than"),
    "another issuer": (DISCOVERY, 200, b'{"issuer": "https://evil.example"}', "evil.example"),
    "keys that are no list": (KEYS, 200, b'{"keys": 1}', "no list"),
    "too many keys": (KEYS, 200, json.dumps({"keys": [{}] * 65}).encode(), "more than 64"),
    "no usable key": (KEYS, 200, b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "key-1"}, 7]}', "no key"),
}


@pytest.mark.parametrize("kind", BAD_ANSWERS)
async def test_bad_documents_are_named_and_change_nothing(fake: FakeIssuer, issuer: Issuer, kind: str) -> None:
    path, status, body, reason = BAD_ANSWERS[kind]
    fake.responses[path] = status, body
    await issuer._refresh()
    assert reason in issuer.problem
    assert issuer.find(fake.token()) == ANNA
    del fake.responses[path]
    await issuer._refresh()
    assert issuer.problem == ""


async def test_keys_are_not_fetched_from_an_endpoint_without_tls(fake: FakeIssuer) -> None:
    document = {"issuer": fake.url, "jwks_uri": "http://sso.example/keys"}
    fake.responses[DISCOVERY] = 200, json.dumps(document).encode()
    issuer = Issuer(settings_of(fake), time.time)
    await issuer._refresh()
    assert "jwks_uri: must use https" in issuer.problem


# ---- sign-in of browsers ----

PENDING = PendingSignIn("state-1", "nonce-1", "verifier-" * 6)
REDIRECT = "http://127.0.0.1:1/callback"


async def approve(fake: FakeIssuer, issuer: Issuer) -> str:
    """The code that the browser brings back."""
    url = await issuer.authorization_url(PENDING, REDIRECT)
    query = dict(each.split("=", 1) for each in url.partition("?")[2].split("&"))
    assert query["code_challenge_method"] == "S256" and PENDING.verifier not in url
    from urllib.parse import parse_qsl, urlsplit

    _, place = fake.answer("/realms/main/authorize", dict(parse_qsl(url.partition("?")[2])))
    return dict(parse_qsl(urlsplit(str(place)).query))["code"]


async def test_a_code_is_redeemed_once_for_the_user_who_signed_in(fake: FakeIssuer, issuer: Issuer) -> None:
    code = await approve(fake, issuer)
    assert await issuer.redeem_code(code, PENDING, REDIRECT) == ANNA
    with pytest.raises(Unauthorized, match="code is wrong"):
        await issuer.redeem_code(code, PENDING, REDIRECT)


@pytest.mark.parametrize("part", ["nonce", "verifier"])
async def test_a_code_of_another_sign_in_is_refused(fake: FakeIssuer, issuer: Issuer, part: str) -> None:
    code = await approve(fake, issuer)
    other = PendingSignIn("state-1", "other", PENDING.verifier)
    if part == "verifier":
        other = PendingSignIn("state-1", PENDING.nonce, "other")
    with pytest.raises(Unauthorized):
        await issuer.redeem_code(code, other, REDIRECT)
