"""Sessions of browsers: signed, not stored; they end with their key, their user, the admin token, or their time."""

from __future__ import annotations

import pytest

from shunter.engine.state.registries import identity
from shunter.gateway import browser_sessions
from shunter.gateway.browser_sessions import BrowserSessions
from shunter.gateway.tokens import ADMIN, Tokens
from shunter.model.errors import Busy, Forbidden, Unauthorized
from shunter.model.identity.roles import Role
from shunter.model.identity.sessions import IDLE_S, LIFETIME_S, Session, parse_session, sign_session
from shunter.ports.identity import NewKey
from shunter.ports.principals import Principal
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import GatewayHarness, run_scenario


async def key_session(harness: GatewayHarness) -> tuple[str, str]:
    """The id of a key of ben, and a session of it."""
    identity = harness.gateway.identity
    await identity.put_user("ben", (Role.SUBMITTER,), None)
    new = await identity.create_key(NewKey((Role.SUBMITTER,), "ben"))
    caller = harness.local_gateway.authenticate(new.key)
    assert caller is not None
    opened = await harness.local_gateway.for_caller(caller, "createSession").sign_in.open()
    assert harness.local_gateway.authenticate(opened.text) == caller == Principal("ben", caller.roles, new.id)
    return new.id, opened.text


@pytest.mark.parametrize("way", ["revoked", "rotated", "disabled", "signed out"])
def test_a_session_ends_with_its_key_its_user_or_a_sign_out(way: str) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        id, text = await key_session(harness)
        identity = harness.gateway.identity
        match way:
            case "revoked":
                await identity.revoke_key(id)
            case "rotated":
                await identity.rotate_key(id, 3600.0)
            case "disabled":
                await identity.put_user("ben", None, True)
            case "signed out":
                await harness.gateway.sign_in.end(text)
        assert harness.local_gateway.authenticate(text) is None

    run_scenario(scenario)


def test_a_session_of_the_admin_token_is_that_of_its_user() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        opened = await harness.gateway.sign_in.open()
        assert harness.local_gateway.authenticate(opened.text) == Principal("anna", ADMIN)
        assert opened.text not in repr(opened)

    run_scenario(scenario)


def test_a_session_that_is_idle_or_old_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        gateway = harness.local_gateway
        text = (await harness.gateway.sign_in.open()).text
        assert gateway.renew_session(text) is None  # it was seen just now
        for _ in range(LIFETIME_S // (IDLE_S - 60)):
            await harness.settle(IDLE_S - 60.0)
            text = gateway.renew_session(text) or ""
            assert gateway.authenticate(text) is not None
        await harness.settle(IDLE_S - 60.0)
        assert gateway.authenticate(text) is None  # however often it was used
        fresh = (await harness.gateway.sign_in.open()).text
        await harness.settle(float(IDLE_S))
        assert gateway.authenticate(fresh) is None
        assert gateway.renew_session(fresh) is None

    run_scenario(scenario)


def test_a_code_opens_one_session_within_a_minute() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        sign_in = harness.gateway.sign_in
        code = (await sign_in.create_code()).code
        assert len(code) >= 43  # 256 bits
        opened = await sign_in.redeem(code)
        assert harness.local_gateway.authenticate(opened.text) is not None
        with pytest.raises(Unauthorized, match="used already"):
            await sign_in.redeem(code)
        late = (await sign_in.create_code()).code
        await harness.settle(60.0)
        with pytest.raises(Unauthorized):
            await sign_in.redeem(late)

    run_scenario(scenario)


def test_a_code_of_a_key_that_was_revoked_since_opens_nothing() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity = harness.gateway.identity
        new = await identity.create_key(NewKey((Role.VIEWER,)))
        caller = harness.local_gateway.authenticate(new.key)
        assert caller is not None
        code = (await harness.local_gateway.for_caller(caller, "createSessionCode").sign_in.create_code()).code
        await identity.revoke_key(new.id)
        with pytest.raises(Unauthorized):
            await harness.gateway.sign_in.redeem(code)

    run_scenario(scenario)


def test_codes_and_ended_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_sessions, "CODES_MAX", 2)
    monkeypatch.setattr(identity, "ENDED_SESSIONS_MAX", 2)

    async def scenario(harness: GatewayHarness) -> None:
        sign_in = harness.gateway.sign_in
        for _ in range(2):
            await sign_in.create_code()
        with pytest.raises(Busy):
            await sign_in.create_code()
        await harness.settle(60.0)
        await sign_in.create_code()
        texts = [(await sign_in.open()).text for _ in range(3)]
        for text in texts:
            await sign_in.end(text)
        assert [harness.local_gateway.authenticate(text) is None for text in texts] == [False, True, True]

    run_scenario(scenario)


def test_a_session_that_somebody_else_signed_or_changed_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        now_s = int(VirtualClock().now())
        forged = sign_session(Session("", "anna", "x", now_s, now_s), b"guess")
        assert harness.local_gateway.authenticate(forged) is None
        text = (await harness.gateway.sign_in.open()).text
        other = sign_session(Session("", "root", "x", now_s, now_s), b"guess").partition(".")[0]
        assert harness.local_gateway.authenticate(f"{other}.{text.partition('.')[2]}") is None
        for wrong in ("shs_", "shs_.", "shs_e30.e30", "shs_W10.W10", "shs_\u00e4.b", "shs_" + "W" * 600 + ".a"):
            assert parse_session(wrong) is None
            assert harness.local_gateway.authenticate(wrong) is None

    run_scenario(scenario)


def test_another_manager_with_the_same_token_accepts_a_session_and_a_reset_token_ends_it() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        text = (await harness.gateway.sign_in.open()).text

        def manager(token: str) -> BrowserSessions:
            tokens = Tokens({token: "anna"})
            return BrowserSessions(
                tokens, harness.engine, VirtualClock(), lambda session: tokens.principal_of(session.user)
            )

        assert manager("secret").find(text) == Principal("anna", ADMIN)
        assert manager("another").find(text) is None
        assert manager("secret").cookie_name != manager("another").cookie_name
        with pytest.raises(Forbidden, match="admin token"):
            BrowserSessions(Tokens({}), harness.engine, VirtualClock(), lambda *_: None).find(text)

    run_scenario(scenario)
