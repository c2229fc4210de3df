"""Claims about the audit log: what is found, in both directions, and what retention drops."""

from __future__ import annotations

import pytest

from shunter.model.errors import Fenced, StoreFailed
from shunter.ports.store import AuditBatch, AuditQuery, Commit, Store
from tests.contracts.store_samples import Claim, OpenStore, collector

CLAIMS: list[Claim] = []
claim = collector(CLAIMS)


@claim
async def records_of_the_audit_log_come_back_as_they_were_committed(open_store: OpenStore) -> None:
    store = await open_store()
    batches = await _write(store, 3)
    assert await store.audit_batches(AuditQuery()) == batches
    again = await open_store()
    assert await again.audit_batches(AuditQuery()) == batches


@claim
async def records_of_the_audit_log_are_read_in_both_directions(open_store: OpenStore) -> None:
    """Each batch has two records: 1-2, 3-4, 5-6, ..."""
    store = await open_store()
    batches = await _write(store, 5)
    assert await store.audit_batches(AuditQuery(after=2, limit=2)) == batches[1:3]
    assert await store.audit_batches(AuditQuery(after=3)) == batches[1:]
    assert await store.audit_batches(AuditQuery(after=10)) == []
    assert await store.audit_batches(AuditQuery(before=11, limit=2)) == [batches[4], batches[3]]
    assert await store.audit_batches(AuditQuery(before=4)) == [batches[1], batches[0]]
    assert await store.audit_batches(AuditQuery(before=1)) == []


@claim
async def a_record_of_the_audit_log_is_committed_once(open_store: OpenStore) -> None:
    store = await open_store()
    batches = await _write(store, 2)
    epoch = await store.leading_epoch()
    with pytest.raises(StoreFailed):
        await store.commit(Commit(epoch, 3, 0.0, b"round", audit=AuditBatch(4, 5, 0.0, b"other\n")))
    assert await store.last_version() == 2
    assert await store.audit_batches(AuditQuery()) == batches


@claim
async def what_has_expired_of_the_audit_log_is_found_and_dropped(open_store: OpenStore) -> None:
    store = await open_store()
    batches = await _write(store, 5)
    assert await store.expired_audit(0, -1.0, 100) is None
    assert await store.expired_audit(5, -1.0, 100) == batches[1]  # the batch with 5 and 6 has a record to keep
    assert await store.expired_audit(0, 3.0, 100) == batches[2]
    assert await store.expired_audit(4, 5.0, 100) == batches[4]
    assert await store.expired_audit(4, 5.0, 2) == batches[1]
    epoch = await store.leading_epoch()
    await store.drop_audit(epoch, 4)
    assert await store.audit_batches(AuditQuery()) == batches[2:]
    await store.drop_audit(epoch, 4)
    assert await store.audit_batches(AuditQuery(before=7)) == [batches[2]]


@claim
async def only_the_leader_drops_records_of_the_audit_log(open_store: OpenStore) -> None:
    store = await open_store()
    await _write(store, 2)
    epoch = await store.leading_epoch()
    await store.begin_epoch()
    with pytest.raises(Fenced):
        await store.drop_audit(epoch, 4)
    assert len(await store.audit_batches(AuditQuery())) == 2


async def _write(store: Store, count: int) -> list[AuditBatch]:
    epoch = await store.begin_epoch()
    batches = [
        AuditBatch(2 * n - 1, 2 * n, float(n), b'{"number":%d}\n{"number":%d}\n' % (2 * n - 1, 2 * n))
        for n in range(1, count + 1)
    ]
    for version, batch in enumerate(batches, 1):
        await store.commit(Commit(epoch, version, batch.at, b"round", audit=batch))
    return batches
