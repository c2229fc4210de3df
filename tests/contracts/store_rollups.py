"""Claims about rollups: rows by tier and time, one for each start, bounded, and written by the leader alone."""

from __future__ import annotations

import pytest

from shunter.model.errors import Fenced
from shunter.ports.store import ROLLUP_BYTES_MAX, ROLLUP_ROW_BYTES_MAX, RollupRow
from tests.contracts.store_samples import Claim, OpenStore, collector

CLAIMS: list[Claim] = []
claim = collector(CLAIMS)
MINUTE_S, HOUR_S = 60, 3600


@claim
async def rollups_come_back_by_tier_from_a_start_on_the_oldest_first(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    assert await store.rollups(MINUTE_S, 0) == []
    minutes = [RollupRow(60 * number, b"minute %d" % number) for number in range(1, 5)]
    await store.save_rollups(epoch, MINUTE_S, minutes[2:])
    await store.save_rollups(epoch, MINUTE_S, minutes[:2])
    await store.save_rollups(epoch, HOUR_S, [RollupRow(0, b"hour")])
    again = await open_store()
    assert await again.rollups(MINUTE_S, 0) == minutes
    assert await again.rollups(MINUTE_S, 120) == minutes[1:]
    assert await again.rollups(MINUTE_S, 121) == minutes[2:]
    assert await again.rollups(HOUR_S, 0) == [RollupRow(0, b"hour")]


@claim
async def a_rollup_of_the_same_start_replaces_the_one_before(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    await store.save_rollups(epoch, MINUTE_S, [RollupRow(60, b"old"), RollupRow(120, b"next")])
    await store.save_rollups(epoch, MINUTE_S, [RollupRow(60, b"new")])
    assert await store.rollups(MINUTE_S, 0) == [RollupRow(60, b"new"), RollupRow(120, b"next")]


@claim
async def the_oldest_rollups_of_a_tier_go_when_it_is_full(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    await store.save_rollups(epoch, HOUR_S, [RollupRow(0, b"hour")])
    fit = ROLLUP_BYTES_MAX // ROLLUP_ROW_BYTES_MAX
    rows = [RollupRow(60 * number, bytes(ROLLUP_ROW_BYTES_MAX)) for number in range(fit + 3)]
    await store.save_rollups(epoch, MINUTE_S, rows[:fit])
    assert len(await store.rollups(MINUTE_S, 0)) == fit
    await store.save_rollups(epoch, MINUTE_S, rows[fit:])
    assert [row.start for row in await store.rollups(MINUTE_S, 0)] == [row.start for row in rows[3:]]
    assert await store.rollups(HOUR_S, 0) == [RollupRow(0, b"hour")]


@claim
async def a_deposed_leader_saves_no_rollups(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    await store.begin_epoch()
    with pytest.raises(Fenced):
        await store.save_rollups(epoch, MINUTE_S, [RollupRow(60, b"late")])
    assert await store.rollups(MINUTE_S, 0) == []
