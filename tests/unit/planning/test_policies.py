"""The catalogue of policies: built-in ones and those of plugins; broken ones are reported and harm no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shunter.model.errors import Invalid
from shunter.planning.batch.batch_policy import BATCH_POLICIES
from shunter.planning.filter.filters import FILTERS, Filter, Refusal
from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.planner import POLICIES
from shunter.planning.policies import BUILT_IN, Catalogue, PluginEntry, fork_policy
from shunter.planning.score.scores import SCORES
from shunter.planning.view import BoolArray, ClusterView, Decision, IntArray, Policy, Queued, TaskClass
from tests.unit.planning.cluster_builder import Cluster


class Lazy:
    """Decides nothing."""

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        self.asked += 1
        return Decision(view.version)


class Broken:
    error: BaseException = RuntimeError("no licence")

    def __init__(self) -> None:
        raise self.error

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision: ...  # type: ignore[empty-body]


def odd_rows(_: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray:
    odd: BoolArray = ledger.number[rows] % 2 == 1
    return odd


def why_even(_: TaskClass, __: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    yield "an even row", rows


ODD = Filter("odd", odd_rows, why_even)


def place(policy: Policy, rows: int = 4, count: int = 4) -> dict[int, int]:
    cluster = Cluster()
    for _ in range(rows):
        cluster.add({"cpu": 4000})
    view = ClusterView(1, cluster.nodes, [Queued(TaskClass(1, {"cpu": 1000}, "default", "anna", 50), count, 1)])
    decision = policy.decide(view, 0.0, 1000)
    return {
        row: placed
        for each in decision.placements
        for row, placed in zip(each.nodes.tolist(), each.counts.tolist(), strict=True)
    }


def test_the_built_in_ones_are_listed_first_with_their_source() -> None:
    entries = Catalogue().entries()
    names = [*POLICIES, *BATCH_POLICIES]
    assert [(entry.name, entry.source) for entry in entries] == [(name, BUILT_IN) for name in names]


def test_a_plugins_class_decides_under_the_name_of_its_entry_point() -> None:
    catalogue = Catalogue(policies=[PluginEntry("lazy", "example 1.0", Lazy)])
    policy = catalogue.build("lazy")
    assert (policy.name, policy.fast) == ("lazy", True)
    assert place(policy) == {}
    assert catalogue.build("lazy") is not policy


def test_one_that_does_not_look_at_tasks_decides_outside_of_rounds() -> None:
    class Queues(Lazy):
        fast, wants = True, ("objects",)

    assert not Catalogue(policies=[PluginEntry("queues", "example 1.0", Queues)]).build("queues").fast


def test_a_plugins_score_makes_a_planner_and_its_filter_holds_for_all_of_them() -> None:
    mine = replace(SCORES["spread"], name="mine")
    catalogue = Catalogue(
        scores=[PluginEntry("mine", "example 1.0", mine)], filters=[PluginEntry("odd", "example 1.0", ODD)]
    )
    assert catalogue.filters == (*FILTERS, ODD)
    for name in ("mine", "bin-pack", "e-pvm"):
        assert set(place(catalogue.build(name))) <= {1, 3}


@pytest.mark.parametrize(
    ("group", "brought", "error"),
    [
        ("policies", PluginEntry("bad", "example 1.0", error="no module"), "no module"),
        ("policies", PluginEntry("bad", "example 1.0", target=7), "not a class"),
        ("policies", PluginEntry("bad", "example 1.0", target=int), "no method `decide"),
        ("policies", PluginEntry("e-pvm", "example 1.0", target=Lazy), "the name is taken: built in"),
        ("scores", PluginEntry("bad", "example 1.0", target=odd_rows), "not a shunter.plugins.Score"),
        ("filters", PluginEntry("bad", "example 1.0", target=odd_rows), "not a shunter.plugins.Filter"),
    ],
)
def test_what_cannot_be_used_is_listed_with_its_error(group: str, brought: PluginEntry, error: str) -> None:
    catalogue = Catalogue(**{group: [brought]})
    [unusable] = [entry for entry in catalogue.entries() if entry.error]
    assert error in unusable.error and unusable.source == "example 1.0"
    assert catalogue.build("e-pvm").name == "e-pvm"


@pytest.mark.parametrize("error", [RuntimeError("no licence"), SystemExit("no licence")])
def test_a_policy_that_cannot_be_had_is_refused_with_the_reason(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = Catalogue(
        policies=[PluginEntry("broken", "example 1.0", Broken), PluginEntry("gone", "example 1.0", error="x")]
    )
    with pytest.raises(Invalid, match="did you mean bin-pack"):
        catalogue.build("binpack")
    monkeypatch.setattr(Broken, "error", error)
    with pytest.raises(Invalid, match=f"{type(error).__name__}: {error}"):
        catalogue.build("broken")
    with pytest.raises(Invalid, match="could not be loaded: x"):
        catalogue.build("gone")


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_fork_decides_alike_and_leaves_the_original_as_it_was(name: str) -> None:
    policy = POLICIES[name]()
    place(policy, count=3)
    twins = [fork_policy(policy), fork_policy(policy)]
    first = place(twins[0])
    assert place(twins[1]) == first == place(policy)


def test_a_policy_without_fork_is_copied_whole() -> None:
    lazy = Catalogue(policies=[PluginEntry("lazy", "example 1.0", Lazy)]).build("lazy")
    clone = fork_policy(lazy)
    place(clone)
    assert isinstance(lazy, Lazy) and isinstance(clone, Lazy)
    assert (lazy.asked, clone.asked) == (0, 1)
