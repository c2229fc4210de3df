"""Authentication by API keys, and what the sub-gateway `identity` shows."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.gateway.identity import VOUCHED_KEY_LIFETIME_S
from shunter.gateway.tokens import ADMIN
from shunter.model.errors import Forbidden, Invalid, NotFound
from shunter.model.identity.roles import Role
from shunter.ports.identity import NewKey, TenantChange
from shunter.ports.principals import Principal
from tests.unit.gateway.harness import GatewayHarness, run_scenario

SUBMITTER = frozenset((Role.SUBMITTER,))
OTHER_BOUNDS: tuple[dict[str, Any], ...] = (
    {}, {"namespace": "b"}, {"queue": "day"}, {"testbeds": ("a/bench", "a/other")}, {"tenant": "red"}
)  # fmt: skip


def test_a_key_authenticates_its_user_with_its_roles() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity = harness.gateway.identity
        await identity.put_user("ben", (Role.SUBMITTER, Role.VIEWER), None)
        new = await identity.create_key(NewKey((Role.SUBMITTER,), "ben", "build"))
        caller = harness.local_gateway.authenticate(new.key)
        assert caller == Principal("ben", SUBMITTER, new.id)
        assert harness.local_gateway.authenticate(new.key[:-1] + "x") is None
        assert harness.local_gateway.authenticate(new.key.replace(new.id, "aaaaaaaaaa")) is None
        harness.local_gateway.for_caller(caller, "submitJob")
        with pytest.raises(Forbidden, match="operator or admin"):
            harness.local_gateway.for_caller(caller, "drainNode")
        [view] = (await identity.keys(10, None)).items
        assert (view.id, view.user, view.roles, view.note) == (new.id, "ben", ["submitter"], "build")

    run_scenario(scenario)


def test_expired_revoked_and_disabled_keys_are_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity, authenticate = harness.gateway.identity, harness.local_gateway.authenticate
        short = await identity.create_key(NewKey((Role.VIEWER,), lifetime_s=10.0))
        revoked = await identity.create_key(NewKey((Role.VIEWER,)))
        await identity.put_user("ben", (Role.VIEWER,), None)
        disabled = await identity.create_key(NewKey((Role.VIEWER,), "ben"))
        assert all(authenticate(each.key) for each in (short, revoked, disabled))
        await identity.revoke_key(revoked.id)
        await identity.put_user("ben", None, True)
        await harness.settle(10.0)
        assert not any(authenticate(each.key) for each in (short, revoked, disabled))
        await identity.put_user("ben", None, False)
        assert authenticate(disabled.key)

    run_scenario(scenario)


def test_a_user_that_loses_a_role_loses_it_in_its_keys() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity, authenticate = harness.gateway.identity, harness.local_gateway.authenticate
        await identity.put_user("ben", (Role.SUBMITTER, Role.OPERATOR), None)
        new = await identity.create_key(NewKey((Role.SUBMITTER, Role.OPERATOR), "ben"))
        await identity.put_user("ben", (Role.SUBMITTER,), None)
        caller = authenticate(new.key)
        assert caller is not None
        assert caller.roles == SUBMITTER
        await identity.put_user("ben", (Role.VIEWER,), None)
        assert authenticate(new.key) is None

    run_scenario(scenario)


def test_a_rotated_key_works_with_both_secrets_for_a_while() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity, authenticate = harness.gateway.identity, harness.local_gateway.authenticate
        old = await identity.create_key(NewKey((Role.VIEWER,)))
        new = await identity.rotate_key(old.id, 60.0)
        assert new.key != old.key
        assert new.old_secret_until is not None
        assert authenticate(new.key) is not None
        assert authenticate(old.key) == authenticate(new.key)
        await harness.settle(60.0)
        assert authenticate(old.key) is None
        assert authenticate(new.key) is not None
        [view] = (await identity.keys(10, None)).items
        assert view.old_secret_until is None

    run_scenario(scenario)


def test_the_use_of_a_key_is_shown() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity = harness.gateway.identity
        new = await identity.create_key(NewKey((Role.VIEWER,)))
        assert new.last_used_at is None
        harness.local_gateway.authenticate(new.key)
        await harness.settle()
        [view] = (await identity.keys(10, None)).items
        assert view.last_used_at is not None

    run_scenario(scenario)


def test_a_key_reads_while_nothing_can_be_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: its use is not noted then."""

    async def scenario(harness: GatewayHarness) -> None:
        new = await harness.gateway.identity.create_key(NewKey((Role.VIEWER,)))
        monkeypatch.setattr(type(harness.engine), "commit_problem", "the disk is full")
        assert harness.local_gateway.authenticate(new.key) is not None
        monkeypatch.undo()
        harness.local_gateway.authenticate(new.key)
        await harness.settle()
        [view] = (await harness.gateway.identity.keys(10, None)).items
        assert view.last_used_at is not None

    run_scenario(scenario)


def test_keys_and_users_are_listed_in_pages() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity = harness.gateway.identity
        for name in ("ben", "cleo", "dora"):
            await identity.put_user(name, (Role.VIEWER,), None)
            await identity.create_key(NewKey((Role.VIEWER,), name))
        first = await identity.users(2, None)
        assert ([each.name for each in first.items], first.next, first.total) == (["ben", "cleo"], "cleo", 3)
        second = await identity.users(2, first.next)
        assert ([each.name for each in second.items], second.next) == (["dora"], None)
        ids = [each.id for each in (await identity.keys(10, None)).items]
        assert ids == sorted(ids)
        assert [each.id for each in (await identity.keys(2, ids[0])).items] == ids[1:]

    run_scenario(scenario)


def test_a_key_is_listed_with_the_roles_that_it_still_has() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        identity = harness.gateway.identity
        await identity.put_user("ben", (Role.VIEWER, Role.OPERATOR), None)
        await identity.create_key(NewKey((Role.VIEWER, Role.OPERATOR), "ben"))
        await identity.put_user("ben", (Role.VIEWER,), None)
        [view] = (await identity.keys(10, None)).items
        assert view.roles == ["viewer"]

    run_scenario(scenario)


def test_callers_are_told_who_they_are() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        me = await harness.gateway.identity.me()
        assert (me.user, me.roles, me.key) == ("anna", ["admin"], None)
        new = await harness.gateway.identity.create_key(NewKey((Role.VIEWER,), lifetime_s=60.0))
        caller = harness.local_gateway.authenticate(new.key)
        assert caller is not None
        me = await harness.local_gateway.for_caller(caller, "getMe").identity.me()
        assert (me.user, me.roles, me.key) == ("anna", ["viewer"], new.id)
        assert me.expires_at == new.expires_at
        assert caller.roles != ADMIN

    run_scenario(scenario)


@pytest.mark.parametrize("bounds", [{"namespace": "a"}, {"queue": "night"}, {"testbeds": ("a/bench",)}])
def test_an_admin_with_a_bound_key_manages_no_key_that_is_bound_less(bounds: dict[str, Any]) -> None:
    """Otherwise it could rotate such a key, and have its new secret."""

    async def scenario(harness: GatewayHarness) -> None:
        everything = harness.gateway.identity
        await harness.gateway.tenants.create("red", TenantChange(queues=("night",)))
        others = [await everything.create_key(NewKey((Role.ADMIN,), **each)) for each in OTHER_BOUNDS]
        own = await everything.create_key(NewKey((Role.ADMIN,), **bounds))
        caller = harness.local_gateway.authenticate(own.key)
        assert caller is not None
        bound = harness.local_gateway.for_caller(caller, "rotateKey").identity
        assert [each.id for each in (await bound.keys(10, None)).items] == [own.id]
        for other in others:
            for call in (bound.rotate_key(other.id, 0.0), bound.revoke_key(other.id)):
                with pytest.raises(NotFound, match=f"key '{other.id}' does not exist"):
                    await call
        with pytest.raises(NotFound, match="tenant 'red' does not exist"):
            await bound.create_key(NewKey((Role.ADMIN,), tenant="red"))
        with pytest.raises(Forbidden, match="bound"):
            await bound.put_user("ben", (Role.ADMIN,), None)
        assert (await bound.rotate_key(own.id, 0.0)).id == own.id
        assert len((await everything.keys(10, None)).items) == len(others) + 1

    run_scenario(scenario)


def test_a_user_of_an_issuer_makes_itself_keys_of_a_day_that_cannot_prolong_themselves() -> None:
    """A key would outlive the access of its user at the issuer otherwise."""

    async def scenario(harness: GatewayHarness) -> None:
        def identity_of(caller: Principal) -> Any:
            return harness.local_gateway.for_caller(caller, "createKey").identity

        def lifetime_s(made: Any) -> float:
            key = harness.engine.state.identity.keys[made.id]
            return (key.expires_ms - key.created_ms) / 1000

        anna = identity_of(Principal("anna", ADMIN, authority="oidc"))
        await anna.put_user("anna", (Role.ADMIN,), None)
        with pytest.raises(Invalid, match="expires_in: is longer than"):
            await anna.create_key(NewKey((Role.ADMIN,), lifetime_s=VOUCHED_KEY_LIFETIME_S + 1))
        own = await anna.create_key(NewKey((Role.ADMIN,)))
        assert lifetime_s(own) == pytest.approx(VOUCHED_KEY_LIFETIME_S, abs=1)
        short = await anna.create_key(NewKey((Role.ADMIN,), lifetime_s=60.0))
        caller = harness.local_gateway.authenticate(short.key)
        assert caller is not None
        again = identity_of(caller)
        for user in (None, "anna"):
            assert lifetime_s(await again.create_key(NewKey((Role.ADMIN,), user))) <= 60
            with pytest.raises(Invalid, match="expires_in: is longer than"):
                await again.create_key(NewKey((Role.ADMIN,), user, lifetime_s=3600.0))
        await again.put_user("robot", (Role.VIEWER,), None)
        robot = await again.create_key(NewKey((Role.VIEWER,), "robot"))
        assert harness.engine.state.identity.keys[robot.id].expires_ms == 0

    run_scenario(scenario)
