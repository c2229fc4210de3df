"""Docstrings are true where a test can tell: the errors that they say a call raises exist."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/shunter", "tests", "scripts", "benchmarks")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
TREES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def known_names() -> set[str]:
    """Everything that is defined or imported anywhere."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    defined = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    imported = {node.name.rpartition(".")[2] for node in nodes if isinstance(node, ast.alias)}
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return {*dir(builtins), *defined, *imported, *used}


def raised() -> Iterator[tuple[str, str]]:
    """(where, name): what docstrings say is raised."""
    for where, tree in TREES.items():
        for node in ast.walk(tree):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            for sentence in re.findall(r"\b[Rr]aises ([^.:;]*)", text or ""):
                for name in re.findall(r"\b[A-Z][a-z]+[A-Za-z]*\b", sentence):
                    yield f"{where}:{getattr(node, 'lineno', 1)}", name


def test_every_error_that_a_docstring_names_exists() -> None:
    names, known = list(raised()), known_names()
    assert len(names) > 200
    assert [f"{where}: {name}" for where, name in names if name not in known] == []
