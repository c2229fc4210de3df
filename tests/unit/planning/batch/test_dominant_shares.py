"""DRF: the user with the smallest dominant share goes next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shunter.planning.batch.batch_policy import BATCH_POLICIES
from tests.unit.planning.batch.test_batch_policy import NOW, queued, starts
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.running_cluster import RunningCluster


def test_the_example_of_the_paper() -> None:
    """9 cpus and 18 of memory. Tasks of A need 1 and 4, those of B 3 and 1: three of A and two of B run."""
    cluster = RunningCluster()
    cluster.add(cpu=9, memory=18)
    of_a = [replace(cluster.make_class("a", cpu=1, memory=4), user="A") for _ in range(6)]
    of_b = [replace(cluster.make_class("b", cpu=3, memory=1), user="B") for _ in range(6)]
    found = starts("drf", cluster, *(queued(each, each.id) for each in (*of_a, *of_b)))
    assert sorted(found) == [each.id for each in (*of_a[:3], *of_b[:2])]


def test_what_a_user_holds_already_counts() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=10)
    rich = replace(cluster.make_class("rich", cpu=1), user="rich")
    poor = replace(cluster.make_class("poor", cpu=10), user="poor")
    pending = [queued(rich, 1), queued(poor, 2)]
    assert starts("drf", cluster, *pending) == {rich.id: {1: 1}}
    view = replace(cluster.view(pending), usage={("default", "rich"): np.array([5, 0, 0])})
    assert chosen(BATCH_POLICIES["drf"]().decide(view, NOW, 10)) == {poor.id: {1: 1}}
