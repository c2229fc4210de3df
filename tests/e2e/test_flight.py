"""The flight recorder on a real cluster: what it recorded is decided again without the cluster."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.cluster import Cluster


def test_a_recorded_flight_is_exported_and_replayed(cluster: Cluster, tmp_path: Path) -> None:
    """U-05: replay reproduces every decision, and with another policy shows the differences."""
    file = tmp_path / "day.flight"
    for number in range(5):
        cluster.shunter("run", "--name", f"job-{number}", "--count", "3", "--", "true", code=0)
    [segment] = cluster.items("flight")
    assert segment["decisions"] >= 5
    assert "KiB" in cluster.shunter("flight", "export", str(file)).out
    told = cluster.shunter("replay", str(file), code=0).out
    assert f"{segment['decisions']} decisions: {segment['decisions']} equal, 0 different" in told
    cluster.shunter("cluster", "set", "flight=off")
    cluster.shunter("run", "--", "true", code=0)
    assert cluster.items("flight")[-1]["decisions"] == segment["decisions"]
    cluster.shunter("cluster", "set", "flight=on")
    cluster.shunter("run", "--", "true", code=0)
    assert len(cluster.items("flight")) == 2
    cut = tmp_path / "cut.flight"
    cut.write_bytes(file.read_bytes()[:-10])
    said = cluster.shunter("replay", str(cut))
    assert f"{cut} is cut off or damaged: its last " in said.err and "bytes were left out" in said.err


def test_a_policy_of_ones_own_is_compared_with_the_recorded_one(cluster: Cluster, tmp_path: Path) -> None:
    file, policy = tmp_path / "day.flight", tmp_path / "lazy.py"
    policy.write_text(
        "from shunter.planning.view import Decision\n"
        "class Lazy:\n"
        "    def decide(self, view, now, budget):\n"
        "        return Decision(based_on=view.version)\n"
    )
    cluster.environment["PYTHONPATH"] = str(tmp_path)
    cluster.shunter("run", "--name", "one", "--", "true", code=0)
    cluster.shunter("flight", "export", str(file))
    said = cluster.shunter("replay", str(file), "--policy", "lazy:Lazy", "--output", "json", code=1)
    found = json.loads(said.out)
    assert found["different"] >= 1
    assert found["items"][0]["replayed"] == {}
    assert "unknown policy" in cluster.shunter("replay", str(file), "--policy", "zzz", code=2).err
    assert "is not a flight recording" in cluster.shunter("replay", str(policy), code=2).err
