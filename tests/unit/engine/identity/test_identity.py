"""Users and API keys in the engine: what is stored, what is refused, and what survives a restart."""

from __future__ import annotations

import pytest

from shunter.engine.identity.keys import KeyDraft
from shunter.model.errors import Conflict, NotFound
from shunter.model.identity.keys import digest_secret
from shunter.model.identity.roles import Role
from tests.unit.engine.harness import Harness, run_scenario

SECRET, OTHER = "A" * 43, "B" * 43


def draft(user: str = "anna", *roles: Role, id: str = "k1", lifetime_s: float | None = None) -> KeyDraft:
    return KeyDraft(id, digest_secret(b"salt", SECRET), user, roles or (Role.SUBMITTER,), "build", lifetime_s)


def test_users_and_keys_survive_a_restart() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.put_user("anna", (Role.SUBMITTER,), None, "admin")
        await harness.engine.create_key(draft(lifetime_s=60.0), "admin")
        await harness.engine.put_user("anna", None, True, "admin")
        before = harness.engine.state.identity
        await harness.restart_manager()
        after = harness.engine.state.identity
        assert (after.users, after.keys) == (before.users, before.keys)
        assert after.users["anna"].is_disabled
        key = after.keys["k1"]
        assert key.matches(SECRET, 0)
        assert not key.has_expired(key.created_ms + 59_999)
        assert key.has_expired(key.created_ms + 60_000)
        types = [event.type for event in await harness.events()]
        assert [each for each in types if each.startswith(("user.", "key."))] == ["user.set", "key.set", "user.set"]

    run_scenario(scenario)


def test_a_key_has_no_roles_that_its_user_lacks() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.put_user("anna", (Role.SUBMITTER,), None, "admin")
        with pytest.raises(Conflict, match="user 'anna' does not have the role operator"):
            await harness.engine.create_key(draft("anna", Role.SUBMITTER, Role.OPERATOR), "admin")
        with pytest.raises(NotFound, match="user 'ben' does not exist"):
            await harness.engine.create_key(draft("ben"), "admin")
        with pytest.raises(NotFound, match="user 'ben' does not exist"):
            await harness.engine.put_user("ben", None, True, "admin")
        assert harness.engine.state.identity.keys == {}
        await harness.engine.create_key(draft("admin", Role.VIEWER), "admin")  # of the caller's own user

    run_scenario(scenario)


def test_a_key_that_could_not_work_is_refused() -> None:
    """Also if the user of the admin token has a record."""

    async def scenario(harness: Harness) -> None:
        await harness.engine.put_user("admin", (Role.VIEWER,), None, "admin")
        with pytest.raises(Conflict, match="user 'admin' does not have the role operator"):
            await harness.engine.create_key(draft("admin", Role.OPERATOR), "admin")
        await harness.engine.put_user("admin", None, True, "admin")
        with pytest.raises(Conflict, match="user 'admin' is disabled"):
            await harness.engine.create_key(draft("admin", Role.VIEWER), "admin")
        await harness.engine.put_user("admin", None, False, "admin")
        await harness.engine.create_key(draft("admin", Role.VIEWER, lifetime_s=5.0), "admin")
        await harness.settle(6.0)
        with pytest.raises(Conflict, match="key 'k1' has expired"):
            await harness.engine.rotate_key("k1", digest_secret(b"new", OTHER), 10.0, "admin")

    run_scenario(scenario)


def test_a_key_that_expired_long_ago_is_removed() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.create_key(draft("admin", lifetime_s=60.0), "admin")
        await harness.engine.create_key(draft("admin", id="k2"), "admin")
        await harness.settle(3600.0)
        assert harness.engine.state.identity.keys.keys() == {"k1", "k2"}
        await harness.settle(31 * 86_400.0)
        assert harness.engine.state.identity.keys.keys() == {"k2"}

    run_scenario(scenario)


def test_a_rotated_key_accepts_its_old_secret_only_during_the_overlap() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.create_key(draft("admin"), "admin")
        await harness.engine.rotate_key("k1", digest_secret(b"new", OTHER), 10.0, "admin")
        key = harness.engine.state.identity.keys["k1"]
        assert key.matches(OTHER, key.old_until_ms)
        assert key.matches(SECRET, key.old_until_ms - 1)
        assert not key.matches(SECRET, key.old_until_ms)
        assert (key.user, key.roles, key.note) == ("admin", (Role.SUBMITTER,), "build")

    run_scenario(scenario)


def test_a_revoked_key_is_gone() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.create_key(draft("admin"), "admin")
        await harness.engine.revoke_key("k1", "admin")
        assert harness.engine.state.identity.keys == {}
        with pytest.raises(NotFound, match="key 'k1' does not exist"):
            await harness.engine.revoke_key("k1", "admin")
        assert [event.type for event in await harness.events()][-1] == "key.revoked"

    run_scenario(scenario)


def test_the_use_of_a_key_is_noted_once_an_hour() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.create_key(draft("admin"), "admin")
        await harness.engine.note_key_use("k1")
        first_ms = harness.engine.state.identity.keys["k1"].used_ms
        assert first_ms
        await harness.settle(60.0)
        await harness.engine.note_key_use("k1")
        assert harness.engine.state.identity.keys["k1"].used_ms == first_ms
        await harness.settle(3600.0)
        await harness.engine.note_key_use("k1")
        assert harness.engine.state.identity.keys["k1"].used_ms > first_ms

    run_scenario(scenario)
