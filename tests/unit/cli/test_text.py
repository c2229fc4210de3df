"""Sentences on a terminal: lines end between words. Programs get them as they are."""

from __future__ import annotations

import sys

import pytest

from shunter.cli.exit_codes import print_error, print_warning
from shunter.cli.render.tables import print_facts
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem
from tests.unit.cli.render.test_tables import on_terminal

LONG = "5 of 5 tasks failed; first failure: task 0: exit code 1"


def test_a_warning_ends_its_lines_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn() -> None:
        monkeypatch.setattr(sys, "stderr", sys.stdout)
        print_warning(LONG)

    assert on_terminal(warn, monkeypatch, 40) == (
        "shunter: 5 of 5 tasks failed; first\n  failure: task 0: exit code 1\n"
    )


def test_a_warning_is_one_line_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    print_warning(LONG)
    assert capsys.readouterr().err == f"shunter: {LONG}\n"


def test_each_problem_of_an_error_has_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Invalid([Problem("spec.count", "must be a whole number from 1 to 10,000,000", "x"), Problem("kind", "bad")])

    def fail() -> None:
        monkeypatch.setattr(sys, "stderr", sys.stdout)
        print_error(error)

    assert on_terminal(fail, monkeypatch, 40).splitlines() == [
        "shunter: error: found 2 problems:",
        "  spec.count: must be a whole number",
        "    from 1 to 10,000,000 (got 'x')",
        "  kind: bad",
    ]


def test_a_line_break_in_a_sentence_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "one two three four\n  five six seven eight"
    assert on_terminal(lambda: print_text(text), monkeypatch, 16) == (
        "one two three\nfour\n  five six seven\n  eight\n"
    )


def test_colours_do_not_count_as_width(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\x1b[36mstarts\x1b[0m; 1 task on 1 node would start"
    assert on_terminal(lambda: print_text(text, "fetch: "), monkeypatch, 30) == (
        "fetch: \x1b[36mstarts\x1b[0m; 1 task on 1\nnode would start\n"
    )


def test_a_long_command_of_a_job_ends_its_lines_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [("command", "sh -c 'sleep 1; echo ready; sleep 1000'")]
    assert on_terminal(lambda: print_facts("web", facts), monkeypatch, 40).splitlines() == [
        "web", "  command    sh -c 'sleep 1; echo ready;", "             sleep 1000'"
    ]  # fmt: skip
