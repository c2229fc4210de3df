"""Names are in the field's vocabulary: no file, class or function has a word of the dialect that Shunter once had.

`docs/concepts/glossary.md` has the few words of our own. A word below has a better one in Kubernetes, Nomad or Slurm.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/shunter", "tests", "benchmarks", "scripts")
GENERATED = "src/shunter/proto"

# word: what to say instead
DIALECT = {
    "ailment": "health_detail",
    "aside": "run_in_thread",
    "believed": "is_current_attempt",
    "blueprint": "spec_version",
    "book": "registry",
    "brain": "active_policy",
    "companion": "rule, observer",
    "coupling": "rule",
    "depot": "fleet",
    "desk": "service",
    "elsewhere": "alternative",
    "everywhere": "per_node",
    "glimpse": "view",
    "hungry": "underfilled",
    "lasting": "long_running",
    "lineup": "queue_order",
    "onlooker": "observer",
    "piece": "task_set, chunk",
    "seat": "pending_class",
    "shaken": "dirty",
    "sitting": "context",
    "sober": "reblock",
    "stir": "mark_dirty",
    "stirred": "dirty",
    "switchboard": "server",
    "thinker": "policy_host",
    "twin": "codec",
    "upkeep": "node_admin",
    "workshop": "context",
    "yard": "cluster_builder",
    "yielding": "search",
}
# Ordinary words that name nothing by themselves. The sentences that tests are named with may have them.
VAGUE = {
    "beside": "colocated",
    "door": "listener",
    "keep": "retain, reserve, maintain",
    "keeping": "retain, reserve, maintain",
    "kept": "retained, reserved",
    "misc": "its subject",
    "outside": "external, background",
    "shown": "visible",
    "told": "reported",
    "util": "its subject",
}
# Frozen: a manifest, a REST parameter, a stored record or a library has these.
FROZEN = {"elsewhere", "piece", "pieces", "collect_usage_pieces"}


def words_of(name: str) -> list[str]:
    """`_TaskSets2` -> task, set, 2: in the singular, because a plural is the same word."""
    found = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    return [word.lower().removesuffix("s") for word in found]


def names() -> Iterator[tuple[str, str]]:
    """Every file, class and function as (where, name)."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            where = str(path.relative_to(ROOT))
            if where.startswith(GENERATED):
                continue
            yield from ((where, part) for part in path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{where}:{node.lineno}", node.name


def test_no_name_has_a_word_of_the_dialect() -> None:
    found = set()
    for where, name in names():
        is_sentence = name.startswith("test_")
        refused = DIALECT if is_sentence else DIALECT | VAGUE
        for word in set(words_of(name)) & set(refused) if name not in FROZEN else ():
            found.add(f"{where}: {name}: instead of {word!r} say {refused[word]}")
    assert not found, "\n".join(sorted(found))


def variables() -> Iterator[tuple[str, str]]:
    """Every parameter, variable and attribute of the product as (where, name)."""
    for path in sorted((ROOT / "src/shunter").rglob("*.py")):
        where = str(path.relative_to(ROOT))
        if where.startswith(GENERATED):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg):
                yield f"{where}:{node.lineno}", node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield f"{where}:{node.lineno}", node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield f"{where}:{node.lineno}", node.attr


def test_no_variable_has_a_word_of_the_dialect() -> None:
    found = {
        f"{where}: {name}: instead of {word!r} say {DIALECT[word]}"
        for where, name in variables()
        if name not in FROZEN
        for word in set(words_of(name)) & set(DIALECT)
    }
    assert not found, "\n".join(sorted(found))


def test_words_are_found_in_every_spelling() -> None:
    assert words_of("_keepUpLastingJobs2") == ["keep", "up", "lasting", "job", "2"]
    assert words_of("books_of_XMLDesk") == ["book", "of", "xml", "desk"]


def test_no_docstring_begins_in_the_middle_of_a_sentence() -> None:
    """`Of the API.` is clear only to someone who reads the name and the signature with it."""
    openers = re.compile(r"(Of|Those|Whom|Under which|At which|Ours|And) ")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text[:60]}"
        for path in sorted((ROOT / "src/shunter").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, documented) and (text := ast.get_docstring(node)) and openers.match(text)
    ]
    assert found == []
