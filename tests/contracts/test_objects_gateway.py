"""The gateway's desk for objects, on the real engine in virtual time, keeps the contract of every ObjectDesk."""

from __future__ import annotations

import pytest

from shunter.engine.books.objects import RECENT_MAX
from tests.unit.gateway.stage import GatewayStage, play

from .objects import CONTRACT, Claim, Stage


@pytest.mark.parametrize("claim", CONTRACT)
def test_gateway_objects(claim: Claim) -> None:
    async def scene(stage: GatewayStage) -> None:
        await claim(Stage(stage.gateway.objects, RECENT_MAX, stage.settle))

    play(scene)
