"""Copying a container's output: every byte once, however the daemon's answer is cut and however often it is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.worker.runtimes.docker.output import HEADER, OVERLAP_NS, OutputCopier, TimestampParser
from shunter.worker.runtimes.task_log import ERR, OUT, TaskLog

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


def logged(entries: list[Entry], since: str = "0") -> bytes:
    """What a daemon has in its log: entries with their times, all from a time on."""
    second, _, fraction = since.partition(".")
    since_ns = int(second) * 10**9 + int(fraction or 0)
    return b"".join(
        frame(stream, stamp(after_ns) + b" " + data)
        for stream, after_ns, data in entries
        if START_S * 10**9 + after_ns >= since_ns
    )


def streamed(entries: list[Entry]) -> bytes:
    """What whoever is attached gets of the same output."""
    return b"".join(frame(stream, data) for stream, _, data in entries)


def frame(stream: int, data: bytes) -> bytes:
    return HEADER.pack(stream + 1, len(data)) + data


def chunks(body: bytes, rng: random.Random) -> Iterator[bytes]:
    while body:
        size = rng.randint(1, 80)
        yield body[:size]
        body = body[size:]


def read_log(copier: OutputCopier, entries: list[Entry], rng: random.Random) -> None:
    """As `docker.container` does it; the connection may end in the middle."""
    if copier.is_live:
        copier.switch_to_log(copier.oldest_ns(logged(entries)))
    copier.begin()
    for chunk in chunks(logged(entries, copier.since), rng):
        copier.write_log_chunk(chunk)
        if rng.random() < 0.05:
            copier.save_position()
        if rng.random() < 0.02:
            break


@pytest.mark.parametrize("seed", range(60))
def test_every_byte_is_taken_once_over_restarts_at_any_moment(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: START_S * 10**9)
    rng = random.Random(seed)
    entries: list[Entry] = []
    after_ns = 0
    for number in range(60):
        after_ns += rng.choice([0, 0, 1, 1000, OVERLAP_NS // 3])  # several may bear the same time
        entries.append((rng.choice([OUT, OUT, ERR]), after_ns, b"%d\n" % number))
    save_position = tmp_path / "note.json"
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    copier = OutputCopier(log, save_position)
    if rng.random() < 0.2:
        copier.write_notice("our own")
    for chunk in chunks(streamed(entries[: rng.randint(0, 60)]), rng):
        copier.write_stream_chunk(chunk)
        if rng.random() < 0.05:
            copier.save_position()
        if rng.random() < 0.02:
            break
    visible = 0
    while visible < len(entries):
        if rng.random() < 0.5:  # the worker is killed: what was not noted is forgotten
            log.close()
            log = TaskLog.reopen(tmp_path, log.segment, NAME, MAX_BYTES)
            copier = OutputCopier(log, save_position)
        visible = min(len(entries), visible + rng.randint(0, 20))
        read_log(copier, entries[:visible], rng)
    copier.begin()
    copier.write_log_chunk(logged(entries, copier.since))
    log.end()
    for stream, suffix in ((OUT, "out"), (ERR, "err")):
        wanted = b"".join(data for target, _, data in entries if target == stream)
        found = (tmp_path / f"{log.segment}.{suffix}").read_bytes().removeprefix(b"[shunter: our own]\n")
        assert found == wanted, f"seed {seed}"


def test_what_was_written_before_the_stream_gave_anything_is_found_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker ends before it has seen the first byte, and notes that after the container has ended."""
    entries: list[Entry] = [(OUT, 0, b"first\n"), (OUT, OVERLAP_NS, b"last\n")]
    monkeypatch.setattr("time.time_ns", lambda: START_S * 10**9 + 10 * OVERLAP_NS)
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    OutputCopier(log, tmp_path / "note.json").save_position()
    log.close()
    log = TaskLog.reopen(tmp_path, log.segment, NAME, MAX_BYTES)
    read_log(OutputCopier(log, tmp_path / "note.json"), entries, random.Random(1))
    log.end()
    assert (tmp_path / f"{log.segment}.out").read_bytes() == b"first\nlast\n"


def test_where_the_daemon_s_log_has_lost_its_beginning_the_noted_time_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = START_S * 10**9
    monkeypatch.setattr("time.time_ns", lambda: now_ns)
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    copier = OutputCopier(log, tmp_path / "note.json")
    entries = [(OUT, second * 10**9, b"%d\n" % second) for second in range(20)]
    copier.write_stream_chunk(streamed(entries[:10]))
    now_ns += 9_500_000_000
    copier.save_position()
    copier.write_stream_chunk(streamed(entries[10:12]))  # not noted any more
    log.close()
    log = TaskLog.reopen(tmp_path, log.segment, NAME, MAX_BYTES)
    copier = OutputCopier(log, tmp_path / "note.json")
    kept = entries[5:]  # what the daemon still has
    copier.switch_to_log(copier.oldest_ns(logged(kept)))
    copier.write_log_chunk(logged(kept, copier.since))
    assert (tmp_path / f"{log.segment}.out").read_bytes() == b"".join(data for _, _, data in entries)


def test_a_clock_that_is_set_back_loses_nothing_while_it_is_followed(tmp_path: Path) -> None:
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    copier = OutputCopier(log, tmp_path / "note.json")
    copier.switch_to_log(0)
    copier.write_log_chunk(logged([(OUT, 5 * 10**9, b"five\n"), (OUT, 10**9, b"one\n"), (OUT, 2 * 10**9, b"two\n")]))
    assert (tmp_path / f"{log.segment}.out").read_bytes() == b"five\none\ntwo\n"


def test_lines_of_our_own_are_not_taken_for_the_task_s(tmp_path: Path) -> None:
    log = TaskLog.create(tmp_path, NAME, MAX_BYTES)
    OutputCopier(log, tmp_path / "note.json").write_notice("image x: pulling")
    log.close()
    log = TaskLog.reopen(tmp_path, log.segment, NAME, MAX_BYTES)
    copier = OutputCopier(log, tmp_path / "note.json")
    copier.switch_to_log(0)
    copier.write_log_chunk(logged([(ERR, 1, b"the task's\n")], copier.since))
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
    assert TimestampParser().read(text) == START_S * 10**9 + after_ns


def test_what_is_no_time_is_as_old_as_can_be() -> None:
    assert TimestampParser().read(b"yesterday") == 0
