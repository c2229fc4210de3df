"""The chain of the audit log: every edit, removal and reorder is found; if a hash was kept elsewhere, also in a chain
that was computed anew."""

from __future__ import annotations

import pytest

from shunter.model.audit.records import (
    GENESIS,
    AuditRecord,
    Checkpoint,
    RefusedRequests,
    encode_record,
    join_line,
    next_hash,
    split_line,
)
from shunter.model.audit.verification import PROBLEMS_MAX, ChainVerifier

COUNT = 8


def chain(records: list[AuditRecord], before: bytes = GENESIS) -> list[bytes]:
    lines = []
    for record in records:
        body = encode_record(record)
        before = next_hash(before, body)
        lines.append(join_line(body, before))
    return lines


def record(number: int, **fields: object) -> AuditRecord:
    return AuditRecord(number=number, at=f"2026-01-01T00:00:0{number % 10}.000Z", operation="submitJob", **fields)  # type: ignore[arg-type]


def sample() -> list[AuditRecord]:
    return [record(number, user="anna", names=[f'job "é"/{number}']) for number in range(1, COUNT + 1)]


def hash_of(line: bytes) -> str:
    return split_line(line)[2].hex()


def problems(lines: list[bytes], head: str = "", committed: bytes | None = None) -> list[str]:
    verifier = ChainVerifier(head)
    for line in lines:
        verifier.add(line)
    if committed is None:
        verifier.finish()
    else:
        last, _, hash = split_line(committed)
        verifier.finish(last.number, hash.hex())
    return verifier.problems


def test_a_chain_as_it_was_written_is_intact() -> None:
    lines = chain(sample())
    assert problems(lines, hash_of(lines[3]), lines[-1]) == []


def test_a_line_comes_back_as_the_record_that_it_was() -> None:
    refused = [RefusedRequests("10.0.0.7", 401, 3)]
    for each in (record(1, refused=refused), record(2, checkpoint=Checkpoint(1, "ab" * 32)), *sample()):
        [line] = chain([each])
        assert split_line(line)[0] == each


@pytest.mark.parametrize("position", range(COUNT))
def test_every_changed_byte_of_a_record_is_found(position: int) -> None:
    lines = chain(sample())
    original = lines[position]
    for offset in range(len(original) - 1):
        changed = bytearray(original)
        changed[offset] ^= 1
        assert problems([*lines[:position], bytes(changed), *lines[position + 1 :]], committed=lines[-1])


@pytest.mark.parametrize("position", range(COUNT))
def test_a_removed_record_is_found(position: int) -> None:
    lines = chain(sample())
    assert problems([*lines[:position], *lines[position + 1 :]], committed=lines[-1])


@pytest.mark.parametrize("position", range(COUNT - 1))
def test_two_records_in_the_other_order_are_found(position: int) -> None:
    lines = chain(sample())
    lines[position], lines[position + 1] = lines[position + 1], lines[position]
    assert problems(lines, committed=lines[-1])


def test_a_log_that_lost_all_its_records_is_found() -> None:
    lines = chain(sample())
    assert problems([], committed=lines[-1]) == [f"the log ends with record 0, but {COUNT} were committed"]


@pytest.mark.parametrize("position", range(4))
def test_a_chain_that_was_computed_anew_lacks_the_hash_that_was_kept(position: int) -> None:
    records = sample()
    kept = hash_of(chain(records)[3])
    records[position] = record(position + 1, user="mallory")
    forged = chain(records)
    assert problems(forged, committed=forged[-1]) == []
    assert "no record has the hash" in problems(forged, kept, forged[-1])[0]


def test_a_change_after_the_kept_hash_is_found_by_the_hash_that_was_committed() -> None:
    records = sample()
    lines = chain(records)
    records[6] = record(7, user="mallory")
    forged = chain(records)
    assert problems(forged, hash_of(lines[3])) == []
    assert problems(forged, hash_of(lines[3]), lines[-1]) == [f"record {COUNT} is not the one that was committed"]


def retained(dropped: int, hash: str | None = None) -> list[bytes]:
    """What is left when retention has dropped the first ones and left a checkpoint."""
    records = sample()
    lines = chain(records)
    checkpoint = Checkpoint(dropped, hash or hash_of(lines[dropped - 1]))
    records.append(record(COUNT + 1, checkpoint=checkpoint))
    return chain(records)[dropped:]


@pytest.mark.parametrize("dropped", [1, 3, COUNT - 1, COUNT])
def test_what_retention_left_is_checked_with_its_checkpoint(dropped: int) -> None:
    lines = retained(dropped)
    assert problems(lines, committed=lines[-1]) == []
    assert problems(lines, hash_of(chain(sample())[dropped - 1]), lines[-1]) == []


def test_records_that_are_missing_at_the_start_need_a_checkpoint() -> None:
    lines = chain(sample())
    expected = "the records before 4 are missing, and no checkpoint says that retention dropped them"
    assert problems(lines[3:], committed=lines[-1]) == [expected]


def test_a_record_that_was_removed_together_with_dropped_ones_is_found() -> None:
    assert problems(retained(3)[1:])


def test_a_checkpoint_with_another_hash_is_found() -> None:
    assert "does not follow" in problems(retained(3, "ab" * 32))[0]
    assert "does not follow" in problems(retained(3, "no hash"))[0]


def test_a_forged_checkpoint_does_not_vouch_for_a_kept_hash() -> None:
    """Whoever rewrites the log could name any hash in a checkpoint about records that are still there."""
    kept = hash_of(chain(sample())[3])
    forged = [record(1, user="mallory"), *sample()[1:], record(COUNT + 1, checkpoint=Checkpoint(4, kept))]
    assert "no record has the hash" in problems(chain(forged), kept)[0]


def test_the_list_of_problems_is_bounded() -> None:
    assert len(problems([b"nonsense\n"] * 100)) == PROBLEMS_MAX
