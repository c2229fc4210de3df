"""Tables, ages, colours and YAML."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cli.render.tables import (
    MEASURED_ROWS_MAX,
    Column,
    age,
    format_counts,
    print_facts,
    print_table,
    yaml_text,
)
from shunter.cli.text import print_text
from shunter.model.files.yaml_reader import parse_documents

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
COLUMNS = [Column("NAME"), Column("STATE"), Column("N", right=True), Column("COMMAND")]


def on_terminal(draw: Callable[[], object], monkeypatch: pytest.MonkeyPatch, width: int = 40) -> str:
    """What `draw` writes when standard output is a terminal."""
    ours, theirs = pty.openpty()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        draw()
    written = b""
    with os.fdopen(ours, "rb", buffering=0) as reader, contextlib.suppress(OSError):  # its end is an error
        while data := reader.read(65536):
            written += data
    return written.decode().replace("\r\n", "\n")


def table() -> int:
    rows = [["render", "running", "7", "sh -c " + "x" * 60], ["a", "failed", "12345", "true"]]
    return print_table(COLUMNS, rows, state_column=1)


def test_columns_are_aligned_and_nothing_is_cut_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert table() == 2
    assert capsys.readouterr().out == (
        f"NAME    STATE        N  COMMAND\nrender  running      7  sh -c {'x' * 60}\na       failed   12345  true\n"
    )


def test_on_a_terminal_states_have_colours_and_lines_end_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = on_terminal(table, monkeypatch).splitlines()
    assert "\x1b[36mrunning\x1b[0m" in lines[1] and "\x1b[31mfailed " in lines[2]
    assert [len(line.replace("\x1b[36m", "").replace("\x1b[0m", "")) for line in lines[:2]] == [31, 40]


def test_who_wants_no_colours_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in on_terminal(table, monkeypatch)


def test_what_a_task_wrote_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([Column("A")], [["\x1b[2Jgone\nnext"]])
    assert capsys.readouterr().out == "A\n?[2Jgone?next\n"


def test_many_rows_stream_with_the_widths_of_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    taken = 0

    def rows() -> object:
        nonlocal taken
        for number in range(MEASURED_ROWS_MAX + 5):
            taken += 1
            yield [str(number), "x"]

    assert print_table([Column("A"), Column("B")], rows()) == taken == MEASURED_ROWS_MAX + 5  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines()[-1] == "1004  x"


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (None, "-"),
        ("2026-01-02T03:04:05.000Z", "0s"),
        ("2026-01-02T03:05:00.000Z", "0s"),
        ("2026-01-02T03:02:30.000Z", "95s"),
        ("2026-01-02T03:01:00.000Z", "3m"),
        ("2026-01-01T22:04:05.000Z", "5h"),
        ("2025-12-30T03:04:05.000Z", "3d"),
    ],
)
def test_ages_have_one_unit(at: str | None, text: str) -> None:
    assert age(at, NOW) == text


def test_counts_are_words() -> None:
    assert format_counts({"running": 3, "queued": 12345}) == "3 running, 12,345 queued"
    assert format_counts({}) == "none"


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12)
    | st.from_regex(r"[-+.0-9oxe_:~nN]{1,8}", fullmatch=True),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(st.text(min_size=1, max_size=6), _PLAIN, min_size=1, max_size=4))
def test_yaml_that_is_printed_is_read_as_the_same(plain: dict[str, Any]) -> None:
    assert parse_documents(yaml_text(plain)) == [plain]


WIDE = [
    Column("NAME"),
    Column("RUN", right=True, drop=2),
    Column("STATE"),
    Column("AGE", right=True, drop=1),
    Column("COMMAND"),
]
WIDE_ROWS = [
    ["a-job-with-a-long-name", "1", "running", "3m", "sh -c 'echo a long command'"],
    ["b", "12", "failed", "2h", "true"],
]


def test_a_cut_cell_ends_in_an_ellipsis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    lines = on_terminal(lambda: print_table(WIDE, WIDE_ROWS, 2), monkeypatch, 60).splitlines()
    assert lines[1] == "a-job-with-a-long-name    1  running   3m  sh -c 'echo a lo…"


@pytest.mark.parametrize(
    ("width", "titles"),
    [(55, "NAME RUN STATE AGE COMMAND"), (54, "NAME STATE AGE COMMAND"), (45, "NAME STATE COMMAND")],
)
def test_less_important_columns_are_left_out_of_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, titles: str
) -> None:
    lines = on_terminal(lambda: print_table(WIDE, WIDE_ROWS, 2), monkeypatch, width).splitlines()
    assert lines[0].split() == titles.split()


def test_cells_of_a_column_that_is_left_out_may_follow_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of one job never look alike."""
    monkeypatch.setenv("NO_COLOR", "1")
    columns = [WIDE[0], Column("RUN", right=True, drop=2, joined_by="@"), *WIDE[2:]]
    wide = on_terminal(lambda: print_table(columns, WIDE_ROWS, 2), monkeypatch, 60).splitlines()
    assert wide[2].split() == ["b", "12", "failed", "2h", "true"]
    narrow = on_terminal(lambda: print_table(columns, WIDE_ROWS, 2), monkeypatch, 54).splitlines()
    assert narrow[0].split() == ["NAME", "STATE", "AGE", "COMMAND"]
    assert [line.split()[0] for line in narrow[1:]] == ["a-job-with-a-long-name@1", "b@12"]
    assert max(map(len, narrow)) <= 54


SENTENCE = "All 3 tasks are pending: the gang starts as a whole, and nodes have room for one of them now."


def test_a_sentence_on_a_terminal_ends_its_lines_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_text(SENTENCE, "ring: ", 2)
    assert capsys.readouterr().out == f"ring: {SENTENCE}\n"  # programs get one line
    lines = on_terminal(lambda: print_text(SENTENCE, "ring: ", 2), monkeypatch, 40).splitlines()
    assert lines[1].startswith("  ") and max(map(len, lines)) <= 40
    assert " ".join(line.strip() for line in lines) == f"ring: {SENTENCE}"


def test_a_long_fact_on_a_terminal_continues_below_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [("state", SENTENCE), ("command", "sh -c 'echo a long command that people copy'")]
    lines = on_terminal(lambda: print_facts("ring", facts), monkeypatch, 40).splitlines()
    assert lines[1].startswith("  state      All") and lines[2].startswith(" " * 13) and lines[2][13] != " "
    assert max(map(len, lines)) <= 40
    assert lines[-2:] == ["  command    sh -c 'echo a long command", "             that people copy'"]


@given(
    width=st.integers(12, 120),
    rows=st.lists(st.lists(st.text("ab ", max_size=40), min_size=5, max_size=5), max_size=4),
)
def test_no_line_is_longer_than_the_terminal_is_wide(width: int, rows: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("NO_COLOR", "1")
        lines = on_terminal(lambda: print_table(WIDE, rows), monkeypatch, width).splitlines()
    assert len(lines) == len(rows) + 1 and max(map(len, lines)) <= width
