"""Suggestions and forecasts: what would let a node take a class, and after which end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shunter.planning.explain.start_estimate import ExpectedEnd, Forecast
from shunter.planning.explain.suggest import FitChecker, round_down
from shunter.planning.view import TaskClass
from tests.unit.planning.cluster_builder import GI, Cluster


def a_class(**needs: int) -> TaskClass:
    return TaskClass(1, needs, "default", "anna", 50)


@given(resource=st.sampled_from(["cpu", "memory", "disk", "gpu"]), amount=st.integers(0, 2**45))
def test_a_round_number_is_at_most_a_sixteenth_less_and_never_more(resource: str, amount: int) -> None:
    rounded = round_down(resource, amount)
    assert 0 <= rounded <= amount
    assert amount - rounded <= amount / 16 or resource == "gpu"


def test_amounts_are_rounded_to_what_people_write() -> None:
    assert round_down("memory", 48 * GI + 300 * 2**20) == 48 * GI
    assert round_down("cpu", 3990) == 3900
    assert round_down("gpu", 3) == 3


def test_a_cut_looks_only_at_nodes_that_have_everything_else() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 1000, "memory": 64 * GI})
    cluster.add({"cpu": 8000, "memory": 16 * GI})
    cluster.add({"cpu": 8000, "memory": 16 * GI})
    resource_cuts = {
        cut.resource: cut for cut in FitChecker(cluster.nodes).resource_cuts(a_class(cpu=4000, memory=32 * GI))
    }
    assert (resource_cuts["memory"].amount, resource_cuts["memory"].nodes) == (16 * GI, 2)
    assert (resource_cuts["cpu"].amount, resource_cuts["cpu"].nodes) == (1000, 1)


def test_without_a_resource_of_which_too_much_is_taken_a_node_fits() -> None:
    cluster = Cluster()
    row = cluster.add({"cpu": 4000, "gpu": 1})
    cluster.nodes.reserved[row, cluster.nodes.resources.index("gpu")] = 2  # it shrank
    cluster.touch(row)
    [cut] = FitChecker(cluster.nodes).resource_cuts(a_class(cpu=1000, gpu=1))
    assert (cut.resource, cut.amount, cut.nodes) == ("gpu", 0, 1)


def test_licences_are_no_matter_of_nodes() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 1000})
    assert FitChecker(cluster.nodes).count(a_class(**{"cpu": 1000, "licence/matlab": 1})) == 1


def test_a_forecast_counts_what_comes_free_on_one_node_and_over_all_for_a_gang() -> None:
    cluster = Cluster()
    for _ in range(2):
        row = cluster.add({"cpu": 4000})
        cluster.nodes.reserved[row, 0] = 4000
        cluster.touch(row)
    expected_ends = [
        ExpectedEnd(at_ms, node, {"cpu": 1000}, at_ms) for at_ms, node in ((10, 1), (20, 2), (30, 1), (40, 2))
    ]
    assert Forecast(a_class(cpu=1000), cluster.nodes).first_fit(expected_ends) == expected_ends[0]
    assert Forecast(a_class(cpu=2000), cluster.nodes).first_fit(expected_ends) == expected_ends[2]
    assert Forecast(a_class(cpu=1000), cluster.nodes).first_fit(expected_ends, count=4) == expected_ends[3]
    assert Forecast(a_class(cpu=3000), cluster.nodes).first_fit(expected_ends) is None
    assert Forecast(a_class(cpu=4000), cluster.nodes).could_ever_fit(2)
    assert not Forecast(a_class(cpu=4000), cluster.nodes).could_ever_fit(3)
    assert not Forecast(a_class(gpu=1), cluster.nodes).could_ever_fit()
