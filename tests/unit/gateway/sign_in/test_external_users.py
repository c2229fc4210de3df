"""Users of an issuer at the gateway: whom a token stands for, and their sessions in browsers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shunter.gateway.authentication import Authentication
from shunter.gateway.sign_in.external_users import ExternalUsers
from shunter.gateway.sign_in.oidc_sign_in import LIFETIME_S, OidcSignIn
from shunter.gateway.tokens import ADMIN, Tokens
from shunter.model.errors import NotFound, Unauthorized
from shunter.model.identity.oidc import ExternalUser, Grant, OidcSettings
from shunter.model.identity.roles import Role
from shunter.model.identity.sessions import EXTERNAL_LIFETIME_S
from shunter.ports.identity import NewKey, TenantChange
from shunter.ports.principals import Principal
from shunter.ports.security.token_issuer import PendingSignIn
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import GatewayHarness, run_scenario

SETTINGS = OidcSettings("https://sso.example", "shunter", ("shunter",), (Grant("team", Role.SUBMITTER),))
TOKEN = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"
ANNA = ExternalUser("anna", frozenset((Role.SUBMITTER,)))
PRINCIPAL = Principal("anna", frozenset((Role.SUBMITTER,)), authority="oidc")


class ScriptedIssuer:
    """Knows one token and one code."""

    def __init__(self, user: ExternalUser = ANNA, settings: OidcSettings = SETTINGS) -> None:
        self.user, self.settings, self.problem = user, settings, ""
        self.seen: list[str] = []
        self.pending: PendingSignIn | None = None

    def find(self, token: str) -> ExternalUser:
        self.seen.append(token)
        if token != TOKEN:
            raise Unauthorized("the signature of the token is wrong")
        return self.user

    async def learn_key(self, token: str) -> None:
        self.seen.append(token)

    async def authorization_url(self, pending: PendingSignIn, redirect_uri: str) -> str:
        self.pending = pending
        return f"https://sso.example/authorize?redirect_uri={redirect_uri}&state={pending.state}"

    async def redeem_code(self, code: str, pending: PendingSignIn, redirect_uri: str) -> ExternalUser:
        if (code, pending, redirect_uri) != ("code-1", self.pending, "https://here"):
            raise Unauthorized("the code is wrong")
        return self.user


def authentication(harness: GatewayHarness, issuer: ScriptedIssuer, token: str = "secret") -> Authentication:
    return Authentication(Tokens({token: "boss"}), harness.engine, VirtualClock(), ExternalUsers(issuer))


def test_a_token_stands_for_its_user_and_a_wrong_one_says_why() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        found = authentication(harness, ScriptedIssuer())
        assert found.authenticate(TOKEN) == PRINCIPAL
        assert found.authenticate(TOKEN + "x") is None
        assert found.explain_refusal(TOKEN + "x") == "the signature of the token is wrong"
        assert found.explain_refusal("guess") == found.explain_refusal("") == ""

    run_scenario(scenario)


def test_credentials_of_the_cluster_itself_are_shown_to_nobody() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        issuer = ScriptedIssuer()
        token = "eyJadmin.of.cluster"  # even if it looks like one of the issuer
        found = authentication(harness, issuer, token)
        identity = harness.gateway.identity
        await identity.put_user("ben", (Role.VIEWER,), None)
        key = (await identity.create_key(NewKey((Role.VIEWER,), "ben"))).key
        for own in (token, key, key[:-1] + "x", "shs_eyJ.x.y"):
            await found.prepare(own)
            found.explain_refusal(own)
        assert found.authenticate(token) == Principal("boss", ADMIN)
        assert issuer.seen == []

    run_scenario(scenario)


def test_a_user_whom_the_cluster_has_disabled_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        found = authentication(harness, ScriptedIssuer())
        session = found.sessions.open(PRINCIPAL).text
        await harness.gateway.identity.put_user("anna", (Role.VIEWER,), True)
        assert found.authenticate(TOKEN) is found.authenticate(session) is None
        assert "disabled in this cluster" in found.explain_refusal(TOKEN)

    run_scenario(scenario)


def test_a_tenant_of_the_issuer_must_exist() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        found = authentication(harness, ScriptedIssuer(replace(ANNA, tenant="red")))
        assert found.authenticate(TOKEN) is None
        assert "tenant 'red', which does not exist" in found.explain_refusal(TOKEN)
        await harness.gateway.tenants.create("red", TenantChange())
        assert found.authenticate(TOKEN) == replace(PRINCIPAL, tenant="red")

    run_scenario(scenario)


def test_a_session_has_the_roles_and_the_tenant_of_the_sign_in_for_an_hour() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.gateway.tenants.create("red", TenantChange())
        caller = replace(PRINCIPAL, user="änna" * 30, tenant="red", roles=frozenset(Role))
        found = authentication(harness, ScriptedIssuer())
        opened = found.sessions.open(caller)
        assert found.authenticate(opened.text) == caller
        assert opened.lifetime_s == EXTERNAL_LIFETIME_S
        await harness.settle(EXTERNAL_LIFETIME_S - 1.0)
        assert found.authenticate(opened.text) == caller
        await harness.settle(2.0)
        assert found.authenticate(opened.text) is None

    run_scenario(scenario)


def test_another_role_map_ends_sessions_and_another_manager_accepts_them() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        text = authentication(harness, ScriptedIssuer()).sessions.open(PRINCIPAL).text
        assert authentication(harness, ScriptedIssuer()).authenticate(text) == PRINCIPAL
        other = ScriptedIssuer(settings=replace(SETTINGS, grants=(Grant("team", Role.VIEWER),)))
        assert authentication(harness, other).authenticate(text) is None
        assert authentication(harness, ScriptedIssuer(), "another").authenticate(text) is None

    run_scenario(scenario)


def test_any_manager_finishes_the_sign_in_that_another_one_began() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        clock, issuer = VirtualClock(), ScriptedIssuer()
        first, second = (OidcSignIn(issuer, clock, authentication(harness, issuer).sessions.derive) for _ in range(2))
        url, state = await first.begin("https://here")
        assert state in url
        assert await second.finish("code-1", state, state, "https://here") == ANNA

    run_scenario(scenario)


def test_a_sign_in_of_another_browser_or_of_long_ago_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        clock, issuer = VirtualClock(), ScriptedIssuer()
        sign_in = OidcSignIn(issuer, clock, authentication(harness, issuer).sessions.derive)
        _, state = await sign_in.begin("https://here")
        _, other = await sign_in.begin("https://here")
        for given, kept in ((state, other), (state, ""), ("", ""), ("x", "x"), (f"9{state}", f"9{state}")):
            with pytest.raises(Unauthorized):
                await sign_in.finish("code-1", given, kept, "https://here")
        _, state = await sign_in.begin("https://here")
        await harness.settle(float(LIFETIME_S))
        with pytest.raises(Unauthorized, match="longer than 10 minutes"):
            await sign_in.finish("code-1", state, state, "https://here")

    run_scenario(scenario)


def test_without_an_issuer_nobody_signs_in_there() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        assert harness.gateway.sign_in.options().oidc is None
        with pytest.raises(NotFound, match="no OpenID Connect issuer"):
            await harness.gateway.sign_in.begin_oidc("https://here")

    run_scenario(scenario)
