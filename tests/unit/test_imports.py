"""Which package may import which. The table is the architecture; the tests below check every file of `src/shunter`."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "shunter"
STANDARD = sys.stdlib_module_names

# package: (our own packages that it may import, besides itself; third-party packages that it may import)
# Everything points down. "?": inside a function only, or for types. ".state": a sub-package of the same package.
# The name of another package means all of it; that of the own package means the modules at its top.
RULES: dict[str, tuple[str, str]] = {
    "log": ("", ""),
    "plugins": ("model? planning? ports? worker?", ""),
    "plugin_aliases": ("", ""),
    "model": ("", "msgspec"),
    "model.timestamps": ("", ""),
    "model.audit": ("", "msgspec"),
    "model.schema": ("model", ""),
    "model.job": ("model .schema .timestamps", "cronsim? msgspec"),
    "model.objects": ("model .job .schema .timestamps", "msgspec"),
    "model.rest": ("model .job .objects .schema .timestamps", "msgspec"),
    "model.protocol": ("model .job .objects", "msgspec"),
    "model.files": ("model .objects .schema", "msgspec yaml?"),
    "model.metrics": ("", "msgspec"),
    "planning.view": ("model", "numpy"),
    "planning.filter": ("model .view", "cel_expr_python? numpy"),
    "planning.score": ("model .filter .view", "numpy"),
    "planning.order": ("model .filter .score .view", "numpy"),
    "planning.reserve": (".filter .order .score .view", "numpy"),
    "planning.batch": ("model .filter .order .view", "numpy"),
    "planning.explain": ("model .filter .score .view", "numpy"),
    "planning.remote": ("model .filter .order .view", "msgspec numpy"),
    "planning": ("model .batch .explain .filter .order .remote .reserve .score .view", "numpy"),
    "testbeds": ("model", "msgspec"),
    "ports": ("model", "msgspec"),
    "ports.security": ("model ports", ""),
    "ports.tracing": ("", ""),
    "frameworks": ("", ""),
    "proto": ("", "google grpc"),
    "wire": ("model proto", "google msgspec"),
    "engine.settings": ("model ports", ""),
    "engine.changes": ("model", "msgspec"),
    "engine.jobs.restart_policy": ("model", ""),  # pure, and part of what the state records
    "engine.state.registries": ("model planning testbeds .changes .state", "msgspec"),
    "engine.state": ("model planning ports .changes .jobs.restart_policy .state.registries", "msgspec numpy"),
    "engine.state.fingerprints": ("model planning .state .state.registries", "numpy"),
    "engine.timers": (".state", ""),
    "engine.dirty_sets": ("model .changes .state", ""),
    "engine.outbox": ("model .state", "msgspec"),
    "engine.metrics.measures": ("model", "numpy"),
    "engine.metrics": ("model .changes .identity .round .state .state.registries", ""),
    "engine.round": (
        "model planning ports .changes .dirty_sets .metrics.measures .outbox .settings .state .timers",
        "",
    ),
    "engine.read": ("model .changes .jobs .services .state .state.registries", "numpy"),
    "engine.jobs": (
        "model ports testbeds .changes .identity .objects .read .round .secrets .services .state .state.registries "
        ".timers",
        "msgspec numpy",
    ),
    "engine.services.rollout": ("model", "msgspec"),  # pure
    "engine.services": (
        "model planning .changes .identity .jobs .nodes .placement .round .secrets .services.rollout .state "
        ".state.registries .timers",
        "msgspec numpy",
    ),
    "engine.nodes": (
        "model planning .changes .jobs.restart_policy .placement .round .services .state .timers",
        "msgspec numpy",
    ),
    "engine.objects": (
        "model planning ports testbeds .changes .identity .jobs .round .services .state .state.registries .timers",
        "msgspec",
    ),
    "engine.placement": (
        "model planning .changes .jobs .nodes .objects .policy .round .services .state .state.registries",
        "numpy",
    ),
    "engine.tracing": ("log model ports .changes .round", ""),
    "engine.policy": (
        "log model planning ports engine .changes .jobs .nodes .placement .round .services .settings .state "
        ".state.registries .timers",
        "msgspec numpy",
    ),
    "engine.audit": ("log model ports .changes .round .state", ""),
    "engine.identity": ("model ports .changes .round .state .state.registries", ""),
    "engine.secrets": ("log model ports .changes .round .state .state.registries", ""),
    "engine": (
        "log model planning ports .audit .changes .identity .jobs .metrics .nodes .objects .placement .policy .round "
        ".secrets .services .settings .state .timers .tracing",
        "",
    ),
    "adapters": ("", ""),
    "adapters.memory": ("model ports", "msgspec"),
    "adapters.sqlite": ("log model ports", "msgspec"),
    "adapters.postgres": ("log model ports", "asyncpg msgspec"),
    "adapters.redis": ("log model ports", "redis"),
    "adapters.files": ("log model", ""),
    "adapters.crypto": ("log model ports", "cryptography?"),
    "adapters.http": ("model ports", "aiohttp msgspec yarl"),
    "adapters.oidc": ("log model ports", "aiohttp? cryptography jwt"),
    "adapters.certificates": ("model", "cryptography"),
    "adapters.etcd": ("log model ports proto", "google grpc msgspec"),
    "adapters.grpc": ("log model ports proto wire", "google grpc msgspec"),
    "adapters.otel": ("model ports", "opentelemetry"),
    "adapters.system": ("model", ""),
    "watcher": ("engine log model ports", "msgspec"),
    "gateway.audit": ("engine log model ports", "msgspec"),
    "gateway.scope": ("engine model ports", ""),
    "gateway.objects": ("engine model ports .scope", "msgspec"),
    "gateway.jobs": (
        "engine model planning ports .objects .scope",
        "msgspec numpy",
    ),  # a file has jobs and objects
    "gateway.streams": ("engine model ports .jobs .scope", ""),
    "gateway.explain": ("engine model planning ports .jobs .scope", "msgspec numpy"),
    "gateway.monitor": ("engine log model planning ports .explain .jobs .scope", "msgspec numpy"),
    "gateway.sign_in": ("log model ports", ""),
    "gateway": (
        "engine log model planning ports testbeds .audit .explain .jobs .monitor .objects .scope .sign_in .streams",
        "msgspec",
    ),
    "api.audit": ("model ports .http? .limits", ""),
    "api.browser": ("model .http", ""),
    "api.tracing": ("log model ports", ""),
    "api.http": ("log model ports .audit .browser .limits .routes .stomp? .tracing", "msgspec uvicorn"),
    "api.grpc": ("log model ports proto .audit .http .limits .routes", "google grpc grpc_health grpc_reflection"),
    "api.limits": ("model", ""),
    "api.routes": ("model ports testbeds .browser .http .stomp?", "msgspec"),
    "api.stomp": ("log model ports .http", "msgspec"),
    "api": ("", ""),
    "worker.keeper": ("", ""),
    "worker.keeper_main": ("", "keeper"),  # a script beside it
    "worker.masked_exec": ("", "keeper"),  # a script beside it
    "worker.process": ("log model ports worker .health .keeper", "msgspec"),
    "worker.health": ("log model plugins ports worker .keeper .process .runtimes", ""),
    "worker.runtimes": (
        "frameworks log model plugins ports worker .health .keeper .process .runtimes.docker?",
        "msgspec",
    ),
    "worker.runtimes.docker": ("log model worker .runtimes", "aiodocker? aiohttp? msgspec"),
    "worker": ("log model ports .health .keeper .process .runtimes", "msgspec"),
    "kube.client": ("log model", "aiohttp msgspec yaml?"),
    "kube.install": ("model .client", ""),
    "kube.jobs": ("log model ports worker worker.process worker.runtimes kube .client .install", "msgspec"),
    "kube": ("log model ports testbeds .applications .client .install", "msgspec"),
    "kube.applications": ("model testbeds kube .client .install", "msgspec"),
    "kube.extender": ("log model kube", "aiohttp msgspec"),
    "simulation.fleet": ("log model ports", ""),
    "simulation.runtime": ("engine model planning ports watcher simulation .fleet .workload", "msgspec"),
    "simulation.workload": (
        "engine gateway.jobs gateway.monitor gateway.scope gateway.streams model planning ports simulation .checks "
        ".runtime?",
        "msgspec",
    ),
    "simulation.checks": ("engine model planning ports testbeds simulation .fleet .workload?", "msgspec numpy"),
    "simulation": ("adapters.memory engine model planning ports .checks .fleet .runtime .workload", ""),
    "lab.readers": ("model lab", "msgspec numpy"),
    "lab.report": ("model lab", "numpy"),
    "lab.gym_env": ("model planning lab .readers", "gymnasium numpy"),  # of the extra `gym`; nothing imports it
    "lab": ("adapters.memory engine model planning simulation .readers", "msgspec numpy"),
    "sdk.transport": ("sdk", ""),
    "sdk.calls": ("model sdk .transport", "msgspec"),
    "sdk.login": ("model sdk", ""),
    "sdk": ("model .calls .login .transport", "msgspec"),
    "sdk.schedulers": ("log model planning? proto wire sdk .calls .transport", "grpc"),
    "schedulers": ("model sdk", ""),  # nothing that others lack
    "scheduler": ("model? planning? sdk.schedulers?", ""),
    "aio": ("sdk", ""),
    "": ("plugin_aliases aio? sdk?", ""),  # shunter/__init__.py
    "cli.render": ("model cli", "msgspec rich? yaml?"),
    "cli.commands": ("model sdk cli .render", "typer"),
    "cli.commands.jobs": ("model planning? sdk cli .commands .render", "msgspec typer"),
    "cli.commands.objects": ("model schedulers? sdk cli .commands.jobs .render", "msgspec typer"),
    "cli.commands.cluster": ("app? model sdk cli .commands.jobs .render", "msgspec rich? typer"),
    "cli.commands.identity": ("app? model sdk cli .render", "typer"),
    "cli.commands.processes": ("app? frameworks model cli .render", "msgspec typer"),
    "cli": ("model sdk .commands.processes?", "typer"),
    "app.storage": ("*", "msgspec"),
    "app.diagnosis": ("*", "msgspec"),
    "app.listeners": ("*", ""),
    "app.sign_in": ("*", ""),
    "app.tls": ("*", ""),
    "app.kubernetes": ("*", "yaml?"),
    "app": ("*", "msgspec uvicorn uvloop"),
}
FILES_MAX = 20  # in a package: beyond that it is divided into sub-packages whose names say what belongs there

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
    "cryptography",
    "jwt",
    "opentelemetry",
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


def test_a_package_has_few_enough_files_to_read_their_names_at_once() -> None:
    sizes = Counter(path.parent for path in SOURCE.rglob("*.py"))
    assert {str(folder.relative_to(SOURCE)): size for folder, size in sizes.items() if size > FILES_MAX} == {}


def test_rules_allow_no_more_than_is_used() -> None:
    """A permission that nobody uses any more is taken away, so that the table stays the map."""
    used = {(each.package, name) for each in ALL if each.own for name in names_of(each.own, each.package)}
    granted = {(package, name.rstrip("?")) for package, (ours, _) in RULES.items() for name in ours.split()}
    assert {each for each in granted - used if each[1] != "*"} == set()


@pytest.mark.parametrize("package", RULES, ids=lambda package: package or "shunter")
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    ours, _ = RULES[package]
    below = [each for each in ALL if each.package == package and each.own not in (None, package)]
    wrong = [each for each in below if ours != "*" and not may_import(package, str(each.own), each.lazy, ours)]
    assert not wrong, said(wrong)


@pytest.mark.parametrize("package", RULES, ids=lambda package: package or "shunter")
def test_a_package_imports_only_its_own_third_parties(package: str) -> None:
    _, theirs = RULES[package]
    strangers = [each for each in ALL if each.package == package and each.own is None]
    wrong = [each for each in strangers if each.top not in STANDARD and not is_allowed(each.top, each.lazy, theirs)]
    assert not wrong, said(wrong)


def is_allowed(name: str, lazy: bool, allowed: str) -> bool:
    return name in allowed.split() or (lazy and f"{name}?" in allowed.split())


def may_import(package: str, own: str, lazy: bool, allowed: str) -> bool:
    return any(is_allowed(name, lazy, allowed) for name in names_of(own, package))


def names_of(own: str, package: str) -> set[str]:
    """What the table may call a package of ours, in the row of another one."""
    top = top_of(own)
    return {own.removeprefix(top) if own != top else own} if top == top_of(package) else {own, top}


def top_of(package: str) -> str:
    return package.partition(".")[0]


def test_pure_packages_import_nothing_that_touches_the_world() -> None:
    wrong = [each for each in ALL if top_of(each.package) in PURE and each.top in WORLD | {"asyncio", "logging"}]
    assert not wrong, said(wrong)


def test_only_constraints_know_the_language_that_they_are_written_in() -> None:
    wrong = [e for e in ALL if e.top == "cel_expr_python" and not e.where.startswith("planning/filter/cel.py:")]
    assert not wrong, said(wrong)


def test_the_engine_touches_the_world_through_ports_only() -> None:
    wrong = [each for each in ALL if top_of(each.package) in DETERMINISTIC and each.top in WORLD]
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
    of_app = [each for each in ALL if top_of(each.own or "") == "app" and top_of(each.package) != "app"]
    wrong = [each for each in of_app if not (top_of(each.package) == "cli" and each.lazy)]
    assert not wrong, said(wrong)


@pytest.mark.parametrize("module", ["shunter", "shunter.sdk", "shunter.cli.main"])
def test_importing_what_users_wait_for_loads_nothing_heavy(module: str) -> None:
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    assert module in loaded
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("module", ["shunter.app.manager", "shunter.app.worker", "shunter.worker.worker"])
def test_a_process_that_sends_no_traces_does_not_load_opentelemetry(module: str) -> None:
    program = f"import sys, {module}; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"[]\n"
