"""Join tokens in the engine: each admits one worker, until it expires."""

from __future__ import annotations

import pytest

from shunter.engine.identity.join_tokens import JoinTokenDraft
from shunter.model.errors import NotFound, Unauthorized
from shunter.model.identity.keys import digest_secret
from tests.unit.engine.harness import Harness, run_scenario

SECRET, OTHER = "A" * 43, "B" * 43
KEY, OTHER_KEY = b"k" * 32, b"o" * 32


async def create(harness: Harness, id: str = "t1", lifetime_s: float = 60.0) -> None:
    draft = JoinTokenDraft(id, "node-7", digest_secret(b"salt", SECRET), lifetime_s)
    await harness.engine.create_join_token(draft, "admin")


def test_a_token_admits_one_worker_also_after_a_restart() -> None:
    async def scenario(harness: Harness) -> None:
        await create(harness)
        assert await harness.engine.use_join_token("t1", SECRET, KEY) == "node-7"
        await harness.restart_manager()
        with pytest.raises(Unauthorized, match="was used"):
            await harness.engine.use_join_token("t1", SECRET, OTHER_KEY)
        types = [event.type for event in await harness.events()]
        assert [each for each in types if each.startswith("join_token.")] == ["join_token.created", "join_token.used"]

    run_scenario(scenario)


def test_the_same_worker_may_ask_again_because_an_answer_may_be_lost() -> None:
    async def scenario(harness: Harness) -> None:
        await create(harness)
        for _ in range(2):
            assert await harness.engine.use_join_token("t1", SECRET, KEY) == "node-7"
        await harness.settle(60.0)
        with pytest.raises(Unauthorized, match="has expired"):
            await harness.engine.use_join_token("t1", SECRET, KEY)

    run_scenario(scenario)


def test_a_refusal_does_not_say_what_is_wrong_and_uses_nothing_up() -> None:
    async def scenario(harness: Harness) -> None:
        await create(harness)
        await create(harness, "t2")
        await harness.engine.revoke_join_token("t2", "admin")
        messages = set()
        for id, secret in (("t1", OTHER), ("t2", SECRET), ("t3", SECRET)):
            with pytest.raises(Unauthorized) as refused:
                await harness.engine.use_join_token(id, secret, KEY)
            messages.add(refused.value.detail)
        assert len(messages) == 1
        assert [event.name for event in await harness.events() if event.type == "join_token.revoked"] == ["t2"]
        assert await harness.engine.use_join_token("t1", SECRET, OTHER_KEY) == "node-7"
        with pytest.raises(NotFound, match="join token 't2' does not exist"):
            await harness.engine.revoke_join_token("t2", "admin")

    run_scenario(scenario)


def test_a_token_that_expired_long_ago_is_removed() -> None:
    async def scenario(harness: Harness) -> None:
        await create(harness)
        await harness.settle(3600.0)
        assert harness.engine.state.join_tokens.tokens.keys() == {"t1"}
        await harness.settle(8 * 86_400.0)
        assert not harness.engine.state.join_tokens.tokens

    run_scenario(scenario)
