"""Claims about Schedulings that were deleted: what is found, page by page, and what retention drops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shunter.model.errors import StoreFailed
from shunter.ports.store import Commit, PastQuery, PastRecord, Store
from tests.contracts.store_samples import FOREVER, Claim, OpenStore, collector

CLAIMS: list[Claim] = []
claim = collector(CLAIMS)


@claim
async def a_deleted_scheduling_comes_back_as_it_was_committed(open_store: OpenStore) -> None:
    store = await open_store()
    record = PastRecord(2**53 + 1, "wörk", "night", 0.1 + 0.2, bytes(range(256)))
    await _write(store, [record])
    assert await store.past_scheduling(record.uid) == record
    assert await store.past_schedulings(PastQuery()) == [record]
    assert await store.past_scheduling(1) is None
    again = await open_store()
    assert await again.past_scheduling(record.uid) == record


@claim
async def deleted_schedulings_are_found_by_name_and_page(open_store: OpenStore) -> None:
    store = await open_store()
    records = [_record(uid, name="ab"[uid % 2], namespace=("default", "film")[uid % 3 == 0]) for uid in range(1, 13)]
    await _write(store, records)
    newest_first = list(reversed(records))
    assert await store.past_schedulings(PastQuery(limit=5)) == newest_first[:5]
    assert await store.past_schedulings(PastQuery(limit=5, before_uid=8)) == newest_first[5:10]
    query = PastQuery(namespace="film", name="a")
    assert await store.past_schedulings(query) == [_record(12, "a", "film"), _record(6, "a", "film")]
    assert await store.count_past(query) == 2
    assert await store.count_past(replace(query, limit=0, before_uid=7)) == 2


@claim
async def a_deleted_scheduling_is_committed_once(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await _write(store, [_record(1)])
    with pytest.raises(StoreFailed):
        await store.commit(Commit(epoch, 2, 0.0, b"round", past=[_record(2), _record(1)]))
    assert await store.count_past(PastQuery()) == 1
    assert await store.last_version() == 1


@claim
async def retention_drops_old_and_surplus_schedulings(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await _write(store, [_record(uid, deleted_at=float(uid)) for uid in range(1, 11)])
    await store.purge(epoch, replace(FOREVER, finished_age_s=7.0), now=10.0)
    assert [past.uid for past in await store.past_schedulings(PastQuery())] == [10, 9, 8, 7, 6, 5, 4]
    await store.purge(epoch, replace(FOREVER, finished_max=2), now=10.0)
    assert [past.uid for past in await store.past_schedulings(PastQuery())] == [10, 9]


def _record(uid: int, name: str = "night", namespace: str = "default", deleted_at: float = 1.0) -> PastRecord:
    return PastRecord(uid, namespace, name, deleted_at, b"%d" % uid)


async def _write(store: Store, records: list[PastRecord]) -> int:
    epoch = await store.begin_epoch()
    await store.commit(Commit(epoch, 1, 0.0, b"round", past=records))
    return epoch
