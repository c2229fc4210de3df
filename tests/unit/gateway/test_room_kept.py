"""`why` tells for whose sake a job waits: room that is being made, and room that is kept."""

from __future__ import annotations

from tests.unit.gateway.stage import ANNA, GatewayStage, play, reference


async def say(stage: GatewayStage, name: str) -> str:
    return (await stage.gateway.why(ANNA, reference(name))).sentence


def test_why_says_that_room_is_being_made_and_for_whom() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.run("low", 2, priority=10)
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        await stage.run("high", priority=90)
        assert await say(stage, "high") == ("1 of 1 tasks wait: tasks on n1 are ending, and their room is kept for it.")

    play(scene)


def test_why_says_for_which_gang_room_is_held_and_until_when() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        await stage.run("early", priority=50, resources={"cpu": 2}, estimate="10m")
        [(node, order)] = stage.orders()
        await stage.started(node, order)
        await stage.run("gang", 2, gang=True, resources={"cpu": 2})
        await stage.run("long", resources={"cpu": 1})
        assert "room is held for gang gang@1 until about" in await say(stage, "long")

    play(scene)
