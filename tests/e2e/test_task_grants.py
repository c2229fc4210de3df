"""Grants to tasks on a real cluster: devices by id, ports, entries, files for their output."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, shell
from tests.e2e.task_gates import Gate


def test_devices_are_handed_out_by_id_and_stay_with_their_tasks(home: Cluster, gate: Gate) -> None:
    """D-19: two tasks never share one, also when the cluster is killed and comes back meanwhile."""
    home.up("--cpu", "8", "--device", "gpu=GPU-a,GPU-b,GPU-c")
    [node] = home.items("nodes")
    assert node["capacity"]["gpu"] == "3"
    tell = f"echo $SHUNTER_DEVICES_GPU=$CUDA_VISIBLE_DEVICES; exec cat {gate.path}"
    home.shunter("submit", "-f", "-", stdin=as_yaml(shell("one", tell, count=2, resources={"gpu": 1})), code=0)
    for index in (0, 1):
        eventually(partial(variables_of, home, f"one/{index}"), "it runs")
    home.kill_manager()
    home.up("--cpu", "8", "--device", "gpu=GPU-a,GPU-b,GPU-c")
    home.shunter("submit", "-f", "-", stdin=as_yaml(shell("two", tell, count=2, resources={"gpu": 1})), code=0)
    eventually(partial(variables_of, home, "two/0"), "the third runs")
    assert sorted(variables_of(home, task) for task in ("one/0", "one/1", "two/0")) == [
        "GPU-a=GPU-a",
        "GPU-b=GPU-b",
        "GPU-c=GPU-c",
    ]
    gate.open()
    home.until("two", "succeeded")


def variables_of(cluster: Cluster, task: str) -> str:
    return cluster.shunter("logs", task, code=None).out.strip()


def test_streams_go_where_the_manifest_says_with_index_and_entry(cluster: Cluster, tmp_path: Path) -> None:
    script = "echo $SHUNTER_TASK_INDEX $SHUNTER_ENTRY $SHUNTER_PORT_WEB"
    document = shell(
        "split", script, entries=["red", "green blue"], stdout=f"{tmp_path}/%j/%i.%a.txt", ports=[{"name": "web"}]
    )
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(document), code=0)
    lines = [(tmp_path / "split" / f"{index}.1.txt").read_text().split() for index in (0, 1)]
    assert lines[0][:2] == ["0", "red"]
    assert lines[1][:3] == ["1", "green", "blue"]
    assert 20_000 <= int(lines[0][-1]) <= 29_999
    assert cluster.shunter("logs", "split/0").out == ""
