"""Output of tasks in log segments: limits cut a hole, old segments are deleted, a full disk costs only the output."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import Ended, ReadLog
from shunter.worker.keeper import segments
from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services

CHATTER = "import sys\nfor i in range(int(sys.argv[1])): sys.stdout.write('%07d\\n' % i)"


async def read_all(harness: Harness, task: Ended, piece_max: int) -> bytes:
    data, offset = b"", 0
    while True:
        harness.worker.received(ReadLog(99, task.segment, task.record, "stdout", offset, piece_max))
        log = harness.messages[-1]
        data += log.data  # type: ignore[union-attr]
        if log.eof:  # type: ignore[union-attr]
            return data
        offset = log.next  # type: ignore[union-attr]


@pytest.mark.parametrize("piece_max", [2**22, 1000])
async def test_output_beyond_the_limit_keeps_its_first_and_its_newest_half(tmp_path: Path, piece_max: int) -> None:
    async with open_harness(tmp_path) as harness:
        before = await harness.run("/bin/echo", "before")
        ended = await harness.run(sys.executable, "-c", CHATTER, "500000", first=1, log_max_bytes=80_000)
        after = await harness.run("/bin/echo", "after", first=2)
        head, _, rest = (await read_all(harness, ended, piece_max)).partition(b"\n[shunter: ")
        words, _, tail = rest.partition(b" bytes cut here]\n")
        assert head == b"".join(b"%07d\n" % i for i in range(5000))
        assert tail == b"".join(b"%07d\n" % i for i in range(495_000, 500_000))
        assert int(words) == 4_000_000 - len(head) - len(tail)
        assert (await harness.read(ended)).truncated
        assert [(await harness.read(task)).data for task in (before, after)] == [b"before\n", b"after\n"]
        status = (harness.home / "logs" / f"{ended.segment}.out").stat()
        assert status.st_size > 4_000_000
        assert status.st_blocks * 512 < 1_000_000


async def test_output_at_the_limit_is_not_cut(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run(sys.executable, "-c", CHATTER, "10000", log_max_bytes=80_000)
        log = await harness.read(ended)
        assert (len(log.data), log.truncated, log.eof) == (80_000, False, True)


async def test_a_log_that_is_no_longer_kept_says_so(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/echo", "x")
        for path in (harness.home / "logs").glob(f"{ended.segment}.*"):
            path.unlink()
        log = await harness.read(ended)
        assert (log.data, log.eof, log.error) == (b"", True, "the log is no longer available")


async def test_a_disk_that_takes_no_more_costs_the_output_and_not_the_task(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        first = await harness.run("/bin/echo", "kept")
        # Every write of the keeper beyond this fails, as on a full disk.
        [keeper] = harness.keeper_pids()
        old = resource.prlimit(keeper, resource.RLIMIT_FSIZE, (5, resource.RLIM_INFINITY))
        ended = await harness.run("/bin/sh", "-c", "echo gone; exit 2", first=1)
        assert (ended.how, ended.exits) == ("", [2])
        assert "not" in ended.detail
        resource.prlimit(keeper, resource.RLIMIT_FSIZE, old)
        assert (await harness.run("/bin/true", first=2)).exits == []
        assert (await harness.read(first)).data == b"kept\n"
        assert harness.keeper_pids() == [keeper]


async def test_a_large_segment_is_followed_by_a_new_one(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        large = segments.SEGMENT_MAX_BYTES + 1
        first = await harness.run("/usr/bin/head", "-c", str(large), "/dev/zero", log_max_bytes=2 * large)
        second = await harness.run("/bin/echo", "second", first=1)
        assert second.segment > first.segment
        assert (await harness.read(second)).data == b"second\n"
        assert (harness.home / "logs" / f"{first.segment}.out").stat().st_size == large


async def test_both_streams_are_kept_apart_and_binary_output_is_kept_as_it_is(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        script = "import os\nos.write(1, bytes(range(256)))\nos.write(2, b'\\xff\\x00err')"
        ended = await harness.run(sys.executable, "-c", script)
        assert (await harness.read(ended)).data == bytes(range(256))
        assert (await harness.read(ended, "stderr")).data == b"\xff\x00err"
