"""The output of an attempt that no keeper runs, over several worker processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import ReadLog
from shunter.worker.keeper.segments import CUT_SLACK_BYTES
from shunter.worker.logs import read_log
from shunter.worker.runtimes.task_log import ERR, OUT, TaskLog

NAME = 4, 0, 7, 2
LIMIT = 1_000_000


def read(folder: Path, log: TaskLog, stream: str = "stdout") -> tuple[bytes, bool]:
    data = read_log(folder, ReadLog(1, log.segment, 0, stream, 0, 2**22))
    assert not data.error
    return data.data, data.eof


def test_output_can_be_followed_and_ends_with_the_task(tmp_path: Path) -> None:
    log = TaskLog.create(tmp_path, NAME, LIMIT)
    log.write(OUT, b"one")
    log.write(ERR, b"two")
    assert read(tmp_path, log) == (b"one", False)
    log.end()
    assert read(tmp_path, log) == (b"one", True)
    assert read(tmp_path, log, "stderr") == (b"two", True)


def test_the_next_life_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    first = TaskLog.create(tmp_path, NAME, LIMIT)
    first.write(OUT, b"before ")
    first.close()
    second = TaskLog.reopen(tmp_path, first.segment, NAME, LIMIT)
    assert (second.written(OUT), second.written(ERR)) == (7, 0)
    second.write(OUT, b"after")
    assert read(tmp_path, second) == (b"before after", False)
    second.end()
    assert read(tmp_path, second) == (b"before after", True)


def test_a_limit_passed_in_two_lives_still_keeps_both_ends(tmp_path: Path) -> None:
    body = bytes(range(256)) * 8192
    first = TaskLog.create(tmp_path, NAME, LIMIT)
    first.write(OUT, body[: LIMIT + CUT_SLACK_BYTES + 1])  # which cuts
    first.close()
    second = TaskLog.reopen(tmp_path, first.segment, NAME, LIMIT)
    second.write(OUT, body[LIMIT + CUT_SLACK_BYTES + 1 :])
    second.end()
    data, eof = read(tmp_path, second)
    kept = LIMIT // 2
    assert eof and data.startswith(body[:kept]) and data.endswith(body[-kept:])
    assert b"%d bytes cut here" % (len(body) - LIMIT) in data


def test_a_segment_that_is_gone_cannot_be_opened_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TaskLog.reopen(tmp_path, 17, NAME, LIMIT)


def test_a_stream_that_goes_to_a_file_is_not_captured(tmp_path: Path) -> None:
    target = tmp_path / "some" / "where.txt"
    target.parent.mkdir()
    target.write_text("of an older attempt")
    log = TaskLog.create(tmp_path, NAME, LIMIT, (str(target), None))
    log.write(OUT, b"seen")
    log.close()
    again = TaskLog.reopen(tmp_path, log.segment, NAME, LIMIT, (str(target), None))
    assert again.written(OUT) == 4
    again.write(OUT, b" here")
    again.write(ERR, b"captured")
    again.end()
    assert target.read_text() == "seen here"
    assert read(tmp_path, again) == (b"", True)
    assert read(tmp_path, again, "stderr") == (b"captured", True)


def test_a_named_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device or address"):
        TaskLog.create(tmp_path, NAME, LIMIT, (str(tmp_path / "pipe"), None))
