"""The mission coverage page and the tests agree: every test on it exists, and every claim of a test is on it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "development" / "mission-coverage.md"
ROW = re.compile(r"^\| ([A-Z]\d?-\d\d) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
NUMBER = re.compile(r"\b(?:S0|S1|C|R|D|U)-\d\d\b")
# Folders whose tests name the requirements that they show.
FOLDERS = (
    "tests/e2e",
    "tests/frameworks",
    "tests/kube",
    "tests/unit/engine",
    "tests/unit/gateway",
    "tests/unit/kube",
    "tests/unit/schedulers",
    "tests/unit/testbeds",
)


def rows() -> dict[str, list[str]]:
    """Line of the mission -> tests."""
    return {number: re.findall(r"`([^`]+)`", tests) for number, _, tests in ROW.findall(PAGE.read_text())}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def claims() -> list[tuple[str, str]]:
    """(line, test) for every line that a test's docstring names."""
    return [
        (number, f"{path.relative_to(ROOT)}::{function.name}")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).glob("test_*.py"))
        for function in functions(path)
        for number in NUMBER.findall(ast.get_docstring(function) or "")
    ]


@pytest.mark.parametrize("number", rows())
def test_every_test_on_the_page_exists(number: str) -> None:
    tests = rows()[number]
    assert tests
    for test in tests:
        path, _, name = test.partition("::")
        assert name in {function.name for function in functions(ROOT / path)}, test


def test_every_claim_of_a_test_is_on_the_page() -> None:
    page = rows()
    missing = [f"{number}: {test}" for number, test in claims() if test not in page.get(number, [])]
    assert not missing, "\n".join(missing)


def test_tests_name_lines_of_the_mission() -> None:
    assert len(claims()) > 100
