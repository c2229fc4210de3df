"""Plugins written for 0.1.0 still work: the modules they import are found under their old paths."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter import plugins
from shunter.plugin_aliases import MODULE_BY_OLD_PATH
from tests.unit.planning.cluster_builder import Cluster, chosen, task_class

POLICY = """
from shunter.planning.view import (
    NOTHING_KEPT, ClusterView, Decision, FloatArray, Kept, NodeKind, Nodes, Placement, Preemption, Queued, TaskClass
)
import numpy as np

class LastNode:
    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        decision = Decision(based_on=view.version, kept=Kept(None, {}))
        assert decision.kept == NOTHING_KEPT
        for queued in view.queued:
            count = min(queued.count, budget)
            row = view.nodes.count - 1
            decision.placements.append(Placement(queued.task_class.id, np.array([row]), np.array([count])))
        return decision
"""
FILTER = """
from shunter.planning.candidates import Filter, Refusal
from shunter.planning.ledger import Ledger, Rows
from shunter.planning.view import BoolArray, IntArray, TaskClass

SSD = "node.labels.disk == 'ssd'"

def is_fast(task_class: TaskClass, ledger: Ledger, rows: Rows) -> BoolArray:
    kinds = ledger.kinds
    by_kind = kinds.meet(SSD) & kinds.lie_in(("dc1",)) & kinds.run("box") & kinds.suit(task_class)
    has_cpu = ledger.free[ledger.column["cpu"]][rows] > 0
    return by_kind[ledger.kind[rows]] & kinds.hold_on(SSD, rows) & has_cpu & ledger.eligible[rows]

def why_slow(task_class: TaskClass, ledger: Ledger, rows: IntArray):
    yield "a slow disk", rows

FAST = Filter("fast", is_fast, why_slow)
"""
SCORE = """
from shunter.planning.ledger import Keep, Ledger, Rows
from shunter.planning.scores import More, Score, Shape, spread
from shunter.planning.view import FloatArray, TaskClass

def cost(task_class: TaskClass, ledger: Ledger, rows: Rows, more: More = 0) -> FloatArray:
    is_cold = ~ledger.kinds.hold_on("node.labels.cache == 'warm'", rows)
    return spread(task_class, ledger, rows, more) + 100.0 * is_cold + 0 * ledger.used_with("cpu", rows, 0)

WARM = Score("warm", Shape.RISING, cost)
"""
CHECK = """
from shunter.model.jobs import HealthCheck
from shunter.worker.health.port import Target, Unwell

async def check(check: HealthCheck, target: Target) -> None:
    code, text = await target.execute(["cat", check.options["file"]], check.timeout_s)
    if code:
        raise Unwell(text)
"""
RUNTIME = """
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted, Outcome, Running, Runtime, RuntimeGone, Usage
from shunter.worker.settings import WorkerSettings
from shunter.worker.task_log import ERR, OUT, TaskLog

class Echo:
    def __init__(self, settings: WorkerSettings) -> None:
        self.name = settings.name

    def run(self, log: TaskLog) -> Outcome:
        log.write(OUT, b"out")
        log.write(ERR, b"error")
        return Outcome(exit_code=0, ended_ms=1)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for packages, and old paths that nobody has imported yet."""
    forget()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    forget()
    for name in [name for name in sys.modules if name.startswith("written_for_0_1_0")]:
        del sys.modules[name]


def forget() -> None:
    for path in MODULE_BY_OLD_PATH:
        parent, _, name = path.rpartition(".")
        sys.modules.pop(path, None)
        vars(import_module(parent)).pop(name, None)


def load(site: Path, group: str, target: str, source: str) -> Any:
    """What an installed plugin's entry point names, as Shunter finds it."""
    module = f"written_for_0_1_0_{group.rpartition('.')[2]}"
    (site / f"{module}.py").write_text(source)
    folder = site / f"{module}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{group}]\nmine = {module}:{target}\n")
    [found] = [plugin for plugin in plugins.find_plugins(group) if plugin.name == "mine"]
    assert found.error == ""
    return found.target


def three_nodes() -> Cluster:
    cluster = Cluster()
    cluster.add({"cpu": 4000}, labels={"disk": "ssd", "cache": "warm"}, attributes={"runtime.box": "1"})
    cluster.add({"cpu": 4000}, labels={"disk": "ssd"})
    cluster.add({"cpu": 4000}, labels={"disk": "hdd"}, attributes={"runtime.box": "1"})
    return cluster


def synced(cluster: Cluster) -> plugins.Ledger:
    ledger = plugins.Ledger()
    ledger.sync(cluster.nodes)
    return ledger


@pytest.mark.parametrize("path", MODULE_BY_OLD_PATH)
def test_an_old_path_leads_to_the_new_module_with_a_warning(site: Path, path: str) -> None:
    (site / "written_for_0_1_0.py").write_text(f"import {path} as found\n")
    plugins.find_plugins(plugins.POLICIES)
    with pytest.warns(DeprecationWarning, match=rf"{path}.*shunter\.plugins") as warned:
        found = import_module("written_for_0_1_0").found
    assert Path(warned[0].filename).name == "written_for_0_1_0.py"
    new = import_module(MODULE_BY_OLD_PATH[path])
    assert found is new
    assert new.__name__ == MODULE_BY_OLD_PATH[path]
    assert new.__spec__ is not None and new.__spec__.name == MODULE_BY_OLD_PATH[path]
    parent, _, name = path.rpartition(".")
    assert getattr(import_module(parent), name) is new


def test_other_paths_are_not_found() -> None:
    plugins.find_plugins(plugins.POLICIES)
    with pytest.raises(ModuleNotFoundError):
        import_module("shunter.planning.no_such_module")


def test_the_finder_is_there_once_however_often_plugins_are_looked_for() -> None:
    plugins.find_plugins(plugins.POLICIES)
    count = len(sys.meta_path)
    plugins.find_plugins(plugins.SCORES)
    assert len(sys.meta_path) == count


def test_an_old_policy_decides(site: Path) -> None:
    policy = load(site, plugins.POLICIES, "LastNode", POLICY)()
    view = three_nodes().view([plugins.Queued(task_class(cpu=1000), 2, 1)])
    assert chosen(policy.decide(view, 0.0, 10)) == {1: {3: 2}}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_filter_asks_the_ledger(site: Path) -> None:
    found = load(site, plugins.FILTERS, "FAST", FILTER)
    assert isinstance(found, plugins.Filter)
    ledger, needed = synced(three_nodes()), task_class(cpu=1000)
    accepted = found.accepts(needed, ledger, slice(0, 4))
    assert accepted is not None and accepted.tolist() == [False, True, False, False]
    [(words, rows)] = found.reasons(needed, ledger, np.array([2, 3]))
    assert (words, rows.tolist()) == ("a slow disk", [2, 3])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_score_weighs_nodes(site: Path) -> None:
    found = load(site, plugins.SCORES, "WARM", SCORE)
    assert isinstance(found, plugins.Score)
    assert found.shape is plugins.Shape.RISING
    cost = found.cost(task_class(cpu=1000), synced(three_nodes()), np.array([1, 2, 3]), 1)
    assert cost.tolist() == [0.25, 100.25, 100.25]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_an_old_health_check_looks_at_a_task(site: Path) -> None:
    check = load(site, plugins.HEALTH_CHECKS, "check", CHECK)

    class Task:
        def address(self, port: str) -> tuple[str, int]:
            raise LookupError(port)

        async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:  # noqa: ARG002
            return int(command != ["cat", "well"]), "no such file"

    await check(plugins.HealthCheck("mine", options={"file": "well"}), Task())
    with pytest.raises(plugins.Unwell, match="no such file"):
        await check(plugins.HealthCheck("mine", options={"file": "other"}), Task())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_runtime_writes_the_log_of_a_task(site: Path, tmp_path: Path) -> None:
    runtime = load(site, plugins.RUNTIMES, "Echo", RUNTIME)(plugins.WorkerSettings(tmp_path, "n1"))
    logs = tmp_path / "logs"
    logs.mkdir()
    log = plugins.TaskLog.create(logs, (1, 0, 0, 1), 1000)
    assert runtime.run(log) == plugins.Outcome(0, 1)
    assert (log.written(plugins.OUT), log.written(plugins.ERR)) == (3, 5)
    log.close()
