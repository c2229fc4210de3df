"""random-fit, best-fit and fgd: on which node, and on which of its GPUs, a task goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from shunter.planning.batch import node_choice
from shunter.planning.batch.batch_policy import BATCH_POLICIES
from shunter.planning.batch.fragmentation import typical_tasks
from shunter.planning.batch.gpu_devices import Demand, GpuDevices, demand_of
from shunter.planning.view import Rules, TaskClass
from tests.unit.planning.batch.test_batch_policy import NOW, queued, starts
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.running_cluster import SSD, RunningCluster

BY_NODE = ("random-fit", "best-fit", "fgd")


def gpu_node(cluster: RunningCluster, gpus: int, cpu: int = 64) -> int:
    return cluster.cluster.add({"cpu": cpu, "memory": 64, "gpu_milli": gpus * 1000}, labels={})


def gpu_task(cluster: RunningCluster, milli: int, cpu: int = 1, rules: Rules | None = None) -> TaskClass:
    return cluster.make_class(f"gpu-{milli}", rules=rules, cpu=cpu, gpu_milli=milli)


@pytest.mark.parametrize(("milli", "demand"), [(0, (0, 0)), (300, (1, 300)), (1000, (1, 1000)), (2500, (3, 1000))])
def test_a_task_needs_a_share_of_one_device_or_whole_devices(milli: int, demand: tuple[int, int]) -> None:
    needs = {"gpu_milli": milli} if milli else {}
    assert demand_of(TaskClass(1, needs, "default", "ann", 50)) == Demand(*demand)


@pytest.mark.parametrize("policy", BY_NODE)
def test_shares_of_different_devices_do_not_make_a_whole_one(policy: str) -> None:
    """Two tasks of 600 leave 400 on each device: another 600 fits nowhere, although 800 are free."""
    cluster = RunningCluster()
    gpu_node(cluster, gpus=2)
    large, small = gpu_task(cluster, 600), gpu_task(cluster, 400)
    found = starts(policy, cluster, queued(large, 1, count=3), queued(small, 2, count=3))
    assert found == {large.id: {1: 2}, small.id: {1: 2}}


@pytest.mark.parametrize("policy", BY_NODE)
def test_what_does_not_fit_waits_and_others_pass_it(policy: str) -> None:
    cluster = RunningCluster()
    gpu_node(cluster, gpus=1)
    huge, small = gpu_task(cluster, 4000), gpu_task(cluster, 500)
    assert starts(policy, cluster, queued(huge, 1), queued(small, 2)) == {small.id: {1: 1}}


@pytest.mark.parametrize("policy", BY_NODE)
def test_a_gang_starts_as_a_whole_or_not_at_all(policy: str) -> None:
    cluster = RunningCluster()
    for _ in range(2):
        gpu_node(cluster, gpus=1)
    gang = gpu_task(cluster, 1000, rules=Rules(job=0, gang=7))
    assert starts(policy, cluster, queued(gang, 1, count=2)) == {gang.id: {1: 1, 2: 1}}
    assert starts(policy, cluster, queued(gang, 1, count=3)) == {}


@pytest.mark.parametrize("policy", BY_NODE)
def test_a_device_is_free_again_when_its_task_has_ended(policy: str) -> None:
    cluster = RunningCluster()
    row = gpu_node(cluster, gpus=1)
    first, second = gpu_task(cluster, 700), gpu_task(cluster, 700)
    built = BATCH_POLICIES[policy]()
    assert chosen(built.decide(cluster.view([queued(first, 1)]), NOW, 10)) == {first.id: {row: 1}}
    task = cluster.run(first, row)
    assert chosen(built.decide(cluster.view([queued(second, 2)]), NOW + 1, 10)) == {}
    cluster.end(task)
    assert chosen(built.decide(cluster.view([queued(second, 2)]), NOW + 2, 10)) == {second.id: {row: 1}}


@pytest.mark.parametrize("policy", BY_NODE)
def test_a_renewed_policy_knows_the_devices(policy: str) -> None:
    cluster = RunningCluster()
    row = gpu_node(cluster, gpus=3)
    first, second = gpu_task(cluster, 300), gpu_task(cluster, 800)
    built = BATCH_POLICIES[policy]()
    built.decide(cluster.view([queued(first, 1, count=2)]), NOW, 10)
    for _ in range(2):
        cluster.run(first, row)
    renewed = built.renew()
    assert renewed.memory == built.memory
    view = cluster.view([queued(second, 2, count=2)])
    assert chosen(renewed.decide(view, NOW + 1, 10)) == chosen(built.decide(view, NOW + 1, 10)) != {}


def test_best_fit_takes_the_fullest_node_and_device() -> None:
    cluster = RunningCluster()
    gpu_node(cluster, gpus=4)
    full = gpu_node(cluster, gpus=4)
    cluster.run(gpu_task(cluster, 500), full)
    share = gpu_task(cluster, 500)
    assert starts("best-fit", cluster, queued(share, 1)) == {share.id: {full: 1}}


def test_tasks_that_others_placed_get_the_devices_on_which_they_fit_best() -> None:
    cluster = RunningCluster()
    row = gpu_node(cluster, gpus=2)
    for milli in (600, 400):
        cluster.run(gpu_task(cluster, milli), row)
    gpus = GpuDevices()
    gpus.sync(cluster.view())
    assert gpus.left[row].tolist() == [0, 1000]


def test_random_fit_uses_all_nodes_and_decides_the_same_again() -> None:
    cluster = RunningCluster()
    for _ in range(4):
        gpu_node(cluster, gpus=8)
    share = gpu_task(cluster, 100)
    found = starts("random-fit", cluster, queued(share, 1, count=100))
    assert sorted(found[share.id]) == [1, 2, 3, 4]
    assert starts("random-fit", cluster, queued(share, 1, count=100)) == found


def test_fragmentation_worked_by_hand() -> None:
    """Half of the tasks need 1 cpu and half a device, half need 4 cpus and a whole device. A node with 2 cpus and
    devices with 300 and 1000 left: the first kind can use the 1000, so 300 are fragmented; the second lacks cpu, so
    all 1300 are."""
    typical = typical_tasks(Counter({(1, 1, 500): 1, (4, 1, 1000): 1}))
    assert typical.fragmentation(np.array([2]), np.array([[300, 1000]])).tolist() == [0.5 * 300 + 0.5 * 1300]


def test_fgd_does_not_break_up_a_whole_device_that_others_need() -> None:
    """Most tasks need whole devices. A share goes next to another share, not on a free device."""
    cluster = RunningCluster()
    free, shared = gpu_node(cluster, gpus=1), gpu_node(cluster, gpus=1)
    cluster.run(gpu_task(cluster, 500), shared)
    whole, share = gpu_task(cluster, 1000), gpu_task(cluster, 500)
    built = BATCH_POLICIES["fgd"]()
    found = chosen(built.decide(cluster.view([queued(share, 1), queued(whole, 2, count=9)]), NOW, 10))
    assert found == {share.id: {shared: 1}, whole.id: {free: 1}}


@pytest.mark.parametrize("policy", BY_NODE)
def test_a_job_with_constraints_starts_when_a_node_gets_the_label(policy: str) -> None:
    """Nothing becomes free, but the first node is now like the second, which is full."""
    cluster = RunningCluster()
    first, full = cluster.add(cpu=4), cluster.add(cpu=4, disk="ssd")
    cluster.run(cluster.make_class("running", cpu=4), full)
    on_ssd = replace(cluster.make_class("ssd", cpu=1), constraints=(SSD,))
    built, nodes = BATCH_POLICIES[policy](), cluster.cluster.nodes
    assert chosen(built.decide(cluster.view([queued(on_ssd, 1)]), NOW, 10)) == {}
    nodes.tick += 1
    nodes.kind[first], nodes.changed[first] = nodes.kind[full], nodes.tick
    assert chosen(built.decide(cluster.view([queued(on_ssd, 1)]), NOW + 1, 10)) == {on_ssd.id: {first: 1}}


def test_fgd_remembers_a_limited_number_of_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_choice, "RISES_BYTES_MAX", 0)
    monkeypatch.setattr(node_choice, "RISES_MIN", 2)
    monkeypatch.setattr(node_choice, "KINDS_MAX", 3)
    cluster = RunningCluster()
    gpu_node(cluster, 8)
    policy = BATCH_POLICIES["fgd"]()
    for milli in range(100, 700, 100):
        assert policy.decide(cluster.view([queued(gpu_task(cluster, milli), 1)]), NOW, 10).placements
    assert len(policy.memory["kinds"]) == 3
