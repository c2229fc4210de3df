"""Plugins that authenticate: what they say counts for a minute, and whatever they raise refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from shunter.gateway.sign_in import plugin_users
from shunter.gateway.sign_in.plugin_users import PluginUsers
from shunter.model.errors import Busy, Unauthorized, Unavailable
from shunter.model.identity.oidc import ExternalUser
from shunter.model.identity.roles import Role

ANNA = ExternalUser("anna", frozenset((Role.SUBMITTER,)), "red")


class Badges:
    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.answer, self.asked = answer, 0

    def authenticate(self, credential: str) -> ExternalUser | None:
        self.asked += 1
        found: ExternalUser | None = self.answer(credential)
        return found


def plugin_of(*badges: Badges) -> tuple[PluginUsers, list[float]]:
    now_s = [0.0]
    names = {f"badges-{number}": each for number, each in enumerate(badges)}
    return PluginUsers(names, asyncio.to_thread, lambda: now_s[0]), now_s


def fail(error: BaseException) -> Callable[[str], Any]:
    def raise_it(_credential: str) -> Any:
        raise error

    return raise_it


async def test_a_user_counts_for_a_minute_under_the_name_of_the_plugin() -> None:
    badges = Badges(lambda credential: ANNA if credential == "badge" else None)
    users, now_s = plugin_of(badges)
    assert users.find("badge") is None
    await users.ask("badge")
    await users.ask("badge")
    assert users.find("badge") == ExternalUser("anna", ANNA.roles, "red", "badges-0") and badges.asked == 1
    await users.ask("other")
    assert users.find("other") is None
    now_s[0] += plugin_users.REMEMBERED_S
    assert users.find("badge") is None
    await users.ask("badge")
    assert badges.asked == 3


async def test_the_first_plugin_that_knows_a_credential_decides() -> None:
    first, second = Badges(lambda _: None), Badges(lambda _: ANNA)
    users, _ = plugin_of(first, second, Badges(fail(AssertionError("not asked"))))
    await users.ask("badge")
    found = users.find("badge")
    assert found is not None and found.authority == "badges-1" and first.asked == 1


async def test_a_refusal_has_the_reason_of_the_plugin() -> None:
    users, _ = plugin_of(Badges(fail(Unauthorized("this badge was returned"))), Badges(lambda _: ANNA))
    await users.ask("badge")
    with pytest.raises(Unauthorized, match=r"this badge was returned \(plugin badges-0\)"):
        users.find("badge")


@pytest.mark.parametrize(
    "answer",
    [
        fail(RuntimeError("password of the directory is hunter2")),
        fail(SystemExit(3)),
        lambda _: "anna",
        lambda _: {"user": "anna"},
        lambda _: ExternalUser("anna", frozenset({"king"})),  # type: ignore[arg-type]
        lambda _: ExternalUser("anna", None),  # type: ignore[arg-type]
    ],
)
async def test_what_a_plugin_should_not_do_refuses_and_leaks_nothing(answer: Callable[[str], Any]) -> None:
    users, _ = plugin_of(Badges(answer))
    with pytest.raises(Unavailable) as refused:
        await users.ask("badge")
    assert refused.value.detail == "the plugin badges-0 failed to check a credential; see the log of the manager"
    assert users.find("badge") is None


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        (ExternalUser("admin", ANNA.roles), "admin token"),
        (ExternalUser("", ANNA.roles), "user name"),
        (ExternalUser("anna", frozenset()), "no role"),
    ],
)
async def test_a_user_of_a_plugin_is_checked_like_others(user: ExternalUser, reason: str) -> None:
    users, _ = plugin_of(Badges(lambda _: user))
    await users.ask("badge")
    with pytest.raises(Unauthorized, match=reason):
        users.find("badge")


async def test_a_plugin_that_is_slow_refuses_and_cannot_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_users, "ANSWER_MAX_S", 0.0)
    monkeypatch.setattr(plugin_users, "CALLS_MAX", 2)
    released = asyncio.Event()

    async def run_in_thread(function: Callable[[str], ExternalUser | None], credential: str, /) -> ExternalUser | None:
        await released.wait()
        return function(credential)

    users = PluginUsers({"slow": Badges(lambda _: ANNA)}, run_in_thread, lambda: 0.0)
    for _ in range(2):
        with pytest.raises(Unavailable, match="did not check a credential in time"):
            await users.ask("badge")
    with pytest.raises(Busy, match="2 credentials"):
        await users.ask("badge")
    released.set()
    monkeypatch.setattr(plugin_users, "ANSWER_MAX_S", 5.0)
    while users._calls:
        await asyncio.sleep(0)
    await users.ask("badge")
    assert users.find("badge") is not None
