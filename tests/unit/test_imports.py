"""Who may import whom. The table is the architecture; the tests below it hold every file of `src/shunter` to it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "shunter"
STANDARD = sys.stdlib_module_names

# package: (our own packages that it may import, besides itself; third-party packages that it may import)
# Everything points down. A name followed by "?" may be imported inside a function only, or for types.
RULES: dict[str, tuple[str, str]] = {
    # package            our own                                                      third-party
    "log":              ("",                                                          ""),
    "plugins":          ("",                                                          ""),
    "model":            ("",                                                          "cronsim? msgspec yaml"),
    "planning":         ("model",                                                     "cel_expr_python? numpy"),
    "testbeds":         ("model",                                                     "msgspec"),
    "ports":            ("model",                                                     "msgspec"),
    "frameworks":       ("",                                                          ""),
    "proto":            ("",                                                          "google grpc"),
    "wire":             ("model proto",                                               "google msgspec"),
    "engine":           ("log model planning ports testbeds",                         "msgspec numpy"),
    "adapters":         ("",                                                          ""),
    "adapters.memory":  ("log model ports",                                           "msgspec"),
    "adapters.sqlite":  ("log model ports",                                           "msgspec"),
    "adapters.files":   ("log model ports",                                           ""),
    "adapters.grpc":    ("log model ports proto wire",                                "google grpc msgspec"),
    "watcher":          ("log model ports engine",                                    "msgspec"),
    "gateway":          ("log model ports engine planning testbeds",                  "msgspec numpy"),
    "api":              ("log model ports testbeds",                                  "msgspec uvicorn?"),
    "worker":           ("frameworks log model plugins ports worker.keeper",          "aiodocker? aiohttp? msgspec"),
    "worker.keeper":    ("",                                                          ""),
    "worker.keeper_main": ("",                                                        "keeper"),  # a script beside it
    "simulation":       ("log model ports planning engine testbeds watcher adapters.memory",   "msgspec numpy"),
    "sdk":              ("model",                                                     "msgspec yaml?"),
    "schedulers":       ("model sdk",                                                 ""),  # nothing that others lack
    "sdk.schedulers":   ("log model sdk planning? proto wire",                        "grpc"),
    "scheduler":        ("model? planning? sdk.schedulers?",                          ""),
    "cli":              ("frameworks log model sdk app? planning? schedulers?",       "click msgspec rich typer yaml"),
    "app":              ("*",                                                         "msgspec uvicorn uvloop"),
    "":                 ("aio? sdk?",                                                 ""),  # shunter/__init__.py
    "aio":              ("sdk",                                                       ""),
}  # fmt: skip

# Pure packages decide; they are handed the time, randomness and everything from outside.
PURE = ("model", "planning", "testbeds")
# The engine awaits its ports and nothing else.
DETERMINISTIC = (*PURE, "engine")
WORLD = {
    "concurrent", "ctypes", "fcntl", "glob", "http", "io", "mmap", "multiprocessing", "os", "pathlib", "random",
    "resource", "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys",
    "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
# Constants, plain values, and the type of what is handed in.
HARMLESS = {"pathlib.PurePath", "pathlib.PurePosixPath", "random.Random", "shunter.__version__", "sys.byteorder"}
WORLDLY_CALLS = {"open", "print", "input", "now", "utcnow", "today"}

# What a user waits for at every command must not be loaded for it.
HEAVY = (
    "cel_expr_python",
    "numpy",
    "starlette",
    "uvicorn",
    "grpc",
    "httpx",
    "pydantic",
    "yaml",
    "rich",
    "psutil",
    "aiodocker",
    "aiohttp",
    "websockets",
)


@dataclass(frozen=True)
class Import:
    """One import statement: `package` of ours imports `target` (a dotted name) at `where`."""

    package: str
    target: str
    lazy: bool
    where: str

    @property
    def top(self) -> str:
        return self.target.partition(".")[0]

    @property
    def own(self) -> str | None:
        """The package of ours that is imported, or None for a stranger."""
        return package_of(self.target.split(".")[1:]) if self.top == "shunter" else None


def imports_below(source: Path) -> Iterator[Import]:
    for path in sorted(source.rglob("*.py")):
        parts = module_parts(path, source)
        for node, lazy in statements(ast.parse(path.read_text(encoding="utf-8"))):
            for target in targets(node, parts, is_package=path.name == "__init__.py"):
                yield Import(package_of(parts), target, lazy, f"{path.relative_to(source)}:{node.lineno}")


def module_parts(path: Path, source: Path = SOURCE) -> list[str]:
    parts = list(path.relative_to(source).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def package_of(parts: list[str]) -> str:
    """The longest entry of the table that a module lies in; a module without one is named whole, and so refused."""
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in RULES:
            return ".".join(parts[:length])
    return ".".join(parts)


def statements(tree: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazy
        yield from statements(child, lazy or is_run_later(child))


def is_run_later(node: ast.AST) -> bool:
    """The body of a function runs when it is called; that of `if TYPE_CHECKING` never does."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def targets(node: ast.Import | ast.ImportFrom, parts: list[str], is_package: bool) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        above = ["shunter", *parts][: len(parts) + 1 + is_package - node.level]
        base = ".".join([*above, *filter(None, [base])])
    # `from shunter.adapters import sqlite` imports a package, so the name counts too.
    return [f"{base}.{alias.name}" for alias in node.names]


ALL = [each for each in imports_below(SOURCE) if each.target not in HARMLESS]


def said(found: list[Import]) -> str:
    return "\n".join(f"{each.where}: {each.package or 'shunter'} imports {each.target}" for each in found)


def test_the_walk_sees_every_way_to_import(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").write_text("from . import main\nimport os.path\n")
    (tmp_path / "cli" / "main.py").write_text(
        "from .tables import draw\nfrom ..sdk.client import connect\n"
        "class A:\n    def up(self):\n        if True:\n            from shunter.app import wiring\n"
    )
    assert [(each.target, each.own, each.lazy, each.where) for each in imports_below(tmp_path)] == [
        ("shunter.cli.main", "cli", False, "cli/__init__.py:1"),
        ("os.path", None, False, "cli/__init__.py:2"),
        ("shunter.cli.tables.draw", "cli", False, "cli/main.py:1"),
        ("shunter.sdk.client.connect", "sdk", False, "cli/main.py:2"),
        ("shunter.app.wiring", "app", True, "cli/main.py:6"),
    ]


def test_every_module_lies_in_a_package_of_the_table() -> None:
    unknown = {package_of(module_parts(path)) for path in SOURCE.rglob("*.py")} - set(RULES)
    assert not unknown, "say in RULES what these may import"


@pytest.mark.parametrize("package", RULES, ids=lambda package: package or "shunter")
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    ours, _ = RULES[package]
    below = [each for each in ALL if each.package == package and each.own not in (None, package)]
    wrong = [each for each in below if ours != "*" and not is_allowed(str(each.own), each.lazy, ours)]
    assert not wrong, said(wrong)


@pytest.mark.parametrize("package", RULES, ids=lambda package: package or "shunter")
def test_a_package_imports_only_its_own_third_parties(package: str) -> None:
    _, theirs = RULES[package]
    strangers = [each for each in ALL if each.package == package and each.own is None]
    wrong = [each for each in strangers if each.top not in STANDARD and not is_allowed(each.top, each.lazy, theirs)]
    assert not wrong, said(wrong)


def is_allowed(name: str, lazy: bool, allowed: str) -> bool:
    return name in allowed.split() or (lazy and f"{name}?" in allowed.split())


def test_pure_packages_import_nothing_that_touches_the_world() -> None:
    wrong = [each for each in ALL if each.package in PURE and each.top in WORLD | {"asyncio", "logging"}]
    assert not wrong, said(wrong)


def test_only_constraints_know_the_language_that_they_are_written_in() -> None:
    wrong = [e for e in ALL if e.top == "cel_expr_python" and not e.where.startswith("planning/filter/cel.py:")]
    assert not wrong, said(wrong)


def test_the_engine_touches_the_world_through_ports_only() -> None:
    wrong = [each for each in ALL if each.package in DETERMINISTIC and each.top in WORLD]
    assert not wrong, said(wrong)


def test_what_is_deterministic_reads_no_clock_and_opens_no_file() -> None:
    wrong = []
    for package in DETERMINISTIC:
        for path in sorted((SOURCE / package).rglob("*.py")):
            calls = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
            wrong += [f"{path.name}:{call.lineno}: {ast.unparse(call)}" for call in calls if is_worldly(call)]
    assert not wrong, "\n".join(wrong)


def is_worldly(call: ast.Call) -> bool:
    """A call of `open` and the like, or of the clock behind `datetime` and `date`."""
    if isinstance(call.func, ast.Name):
        return call.func.id in WORLDLY_CALLS
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return False
    return call.func.value.id in {"datetime", "date"} and call.func.attr in WORLDLY_CALLS


def test_adapters_never_import_one_another() -> None:
    adapters = {package for package in RULES if package.startswith("adapters.")}
    wrong = [each for each in ALL if each.package in adapters and each.own in adapters - {each.package}]
    assert not wrong, said(wrong)


def test_only_the_command_line_imports_the_app_and_only_when_it_is_needed() -> None:
    wrong = [e for e in ALL if e.own == "app" and e.package != "app" and not (e.package == "cli" and e.lazy)]
    assert not wrong, said(wrong)


@pytest.mark.parametrize("module", ["shunter", "shunter.sdk", "shunter.cli.main"])
def test_importing_what_users_wait_for_loads_nothing_heavy(module: str) -> None:
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    assert module in loaded
    assert not set(HEAVY) & set(loaded)
