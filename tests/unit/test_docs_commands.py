"""Commands, options, manifests and Python in the pages exist: each is checked with the real parser."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from shunter.cli.main import app
from shunter.model.files.yaml_reader import parse_documents
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.objects import KINDS
from tests.unit.model.job.manifest_samples import parse_job

ROOT = Path(__file__).parents[2]
FOLDERS = ("*.md", "docs/**/*.md", "examples/*.md", "examples/*/*.md")
PAGES = sorted(page for pattern in FOLDERS for page in ROOT.glob(pattern))


def command_lines() -> Iterator[tuple[str, str]]:
    """Every `shunter …` in code, with its page. A line's comment begins with two spaces and a hash; a backslash at its
    end continues it."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        shown = re.findall(r"^(?:\.venv/bin/)?shunter ([a-z].*?)(?:  +#.*)?$", text, flags=re.MULTILINE)
        shown += re.findall(r"`shunter ([a-z][^`]*)`", text)
        yield from ((page.name, line) for line in shown)


LINES = sorted(set(command_lines()))


def test_the_readme_shows_the_commands_that_matter() -> None:
    shown = {line.split()[0] for page, line in LINES if page == "README.md"}
    assert {"run", "submit", "jobs", "why", "logs", "manager", "worker", "up"} <= shown


@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_command_in_a_page_exists_with_its_options(page: str, line: str) -> None:
    words = shlex.split(line)
    command, rest = find_command(words)
    given = [word.partition("=")[0] for word in rest[: rest.index("--") if "--" in rest else None]]
    known = {name for parameter in command.params for name in parameter.opts} | {"-h", "--help"}
    strangers = [word for word in given if re.match(r"--?[a-z]", word) and word not in known]
    assert not strangers, f"{page}: shunter {line}"


def find_command(words: list[str]) -> tuple[Any, list[str]]:
    """The command that these words name, and what follows its name."""
    group: Any = get_command(app)
    context = typer.Context(group)
    command = group.get_command(context, words[0])
    assert command is not None, f"there is no command {words[0]}"
    if len(words) > 1 and hasattr(command, "commands"):
        assert words[1] in command.commands, f"there is no command {words[0]} {words[1]}"
        return command.commands[words[1]], words[2:]
    return command, words[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_job_manifests_in_a_page_are_accepted(page: Path) -> None:
    for block in code_blocks(page, "yaml"):
        for document in parse_documents(block):
            if isinstance(document, dict) and document.get("kind") == "Job":
                parse_job(document, name_default="made-up")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_manifests_of_objects_in_a_page_are_accepted(page: Path) -> None:
    for block in code_blocks(page, "yaml"):
        documents = [each for each in parse_documents(block) if isinstance(each, dict) and each.get("kind") in KINDS]
        read_objects(documents)


def test_python_in_the_readme_compiles() -> None:
    blocks = code_blocks(ROOT / "README.md", "python")
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
