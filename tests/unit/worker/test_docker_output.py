"""Copying a container's output: every byte once, however the daemon's answer is cut and however often it is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.worker.runtimes.docker.output import HEADER, OVERLAP_NS, Clock, Copy
from shunter.worker.task_log import ERR, OUT, TaskLog

START_S = 1_794_752_058
NAME = (1, 0, 0, 1)
MAX_BYTES = 2**20

Entry = tuple[int, int, bytes]  # stream, nanoseconds after the start, what was written


def stamp(after_ns: int) -> bytes:
    at_ns = START_S * 10**9 + after_ns
    assert 0 <= at_ns - START_S * 10**9 < 60 * 10**9
    # START_S is 14:14:18 of its day: seconds are counted on from there within the hour.
    second = 14 * 60 + 18 + at_ns // 10**9 - START_S
    return b"2026-11-15T14:%02d:%02d.%09dZ" % (second // 60, second % 60, at_ns % 10**9)


def multiplexed(entries: list[Entry], since: str) -> bytes:
    """What a daemon answers that has these entries: all from a time on."""
    second, _, fraction = since.partition(".")
    since_ns = int(second) * 10**9 + int(fraction or 0)
    body = b""
    for stream, after_ns, data in entries:
        if START_S * 10**9 + after_ns >= since_ns:
            line = stamp(after_ns) + b" " + data
            body += HEADER.pack(stream + 1, len(line)) + line
    return body


def pieces(body: bytes, chance: random.Random) -> Iterator[bytes]:
    while body:
        size = chance.randint(1, 80)
        yield body[:size]
        body = body[size:]


@pytest.mark.parametrize("seed", range(40))
def test_every_byte_is_taken_once_over_restarts_at_any_moment(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    entries: list[Entry] = []
    after_ns = 0
    for number in range(60):
        after_ns += chance.choice([0, 0, 1, 1000, OVERLAP_NS // 3])  # several may bear the same time
        entries.append((chance.choice([OUT, OUT, ERR]), after_ns, b"%d\n" % number))
    note = tmp_path / "note.json"
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    copy = Copy(log, note)
    visible = 0
    while visible < len(entries):
        visible = min(len(entries), visible + chance.randint(0, 20))
        for piece in pieces(multiplexed(entries[:visible], copy.since), chance):
            copy.take(piece)
            if chance.random() < 0.05:
                copy.note()
            if chance.random() < 0.02:
                break  # the connection ends in the middle
        if chance.random() < 0.5:  # the worker is killed: what was not noted is forgotten
            log.close()
            log = TaskLog.reopen(tmp_path, log.segment, NAME, MAX_BYTES)
            copy = Copy(log, note)
        copy.begin()
    copy.take(multiplexed(entries, copy.since))
    log.end()
    for stream, suffix in ((OUT, "out"), (ERR, "err")):
        wanted = b"".join(data for target, _, data in entries if target == stream)
        assert (tmp_path / f"{log.segment}.{suffix}").read_bytes() == wanted, f"seed {seed}"


def test_a_clock_that_is_set_back_loses_nothing_while_it_is_followed(tmp_path: Path) -> None:
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    copy = Copy(log, tmp_path / "note.json")
    copy.take(multiplexed([(OUT, 5 * 10**9, b"five\n"), (OUT, 10**9, b"one\n"), (OUT, 2 * 10**9, b"two\n")], "0"))
    assert (tmp_path / f"{log.segment}.out").read_bytes() == b"five\none\ntwo\n"


def test_lines_of_our_own_are_not_taken_for_the_task_s(tmp_path: Path) -> None:
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    Copy(log, tmp_path / "note.json").say("image x: pulling")
    log.close()
    log = TaskLog.reopen(tmp_path, log.segment, NAME, MAX_BYTES)
    copy = Copy(log, tmp_path / "note.json")
    copy.take(multiplexed([(ERR, 1, b"the task's\n")], copy.since))
    assert (tmp_path / f"{log.segment}.err").read_bytes() == b"[shunter: image x: pulling]\nthe task's\n"


@pytest.mark.parametrize(
    ("text", "after_ns"),
    [
        (b"2026-11-15T14:14:18.019219868Z", 19219868),
        (b"2026-11-15T14:14:18Z", 0),
        (b"2026-11-15T14:14:18.5Z", 500_000_000),
        (b"2026-11-15T16:14:18.5+02:00", 500_000_000),
    ],
)
def test_times_are_read_to_the_nanosecond_in_any_zone(text: bytes, after_ns: int) -> None:
    assert Clock().read(text) == START_S * 10**9 + after_ns


def test_what_is_no_time_is_as_old_as_can_be() -> None:
    assert Clock().read(b"yesterday") == 0
