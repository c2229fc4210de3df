"""What newcomers read if they mistype something: the option that they wrote, what is wrong, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run --cpu abc true", "--cpu: must be a quantity (got 'abc'); write it like 2 or 500m"),
        (
            "run --memory 1GB true",
            "--memory: must be a quantity (got '1GB'); did you mean 1G (10^9 bytes) or 1Gi (2^30 bytes)?",
        ),
        (
            "run --memory 5 true",
            "--memory: must be 0 or at least 1Mi (got '5'); 5 means 5 bytes; did you mean 5Mi?",
        ),
        (
            "run --array 1-x true",
            "--array: is not a list of indexes, found '1-x'; write it as 1-100, 1-100:2 or 1-3,7%4",
        ),
        ("run --port a=99999 true", "--port: must be 1 to 65,535 (got 99999)"),
        (
            "run --after nosuch true",
            "--after: job 'nosuch' does not exist in namespace 'default'; submit it in the same file, or remove this"
            " dependency",
        ),
        ("run --resource mem=1Gi true", "--resource: unknown resource; did you mean memory?"),
        (
            "jobs --state foo",
            "--state: must be one of pending, running, stopping, succeeded, failed, cancelled (got 'foo')",
        ),
    ],
)
def test_a_mistake_is_answered_in_words_of_the_command_line(cluster: Cluster, line: str, said: str) -> None:
    assert cluster.shunter(*line.split(), code=None).err == f"shunter: error: {said}\n"


def test_an_image_without_a_runtime_is_said_at_once(cluster: Cluster) -> None:
    if any("runtime.docker" in node["attributes"] for node in cluster.items("nodes")):
        pytest.skip("this machine has a container runtime")
    said = cluster.shunter("run", "--image", "busybox", "--queue-timeout", "1s", "--", "true", code=None).err
    assert said.startswith(
        "shunter: no node has a container runtime; install Docker or podman on one. Ctrl-C cancels the job.\n"
    )
    refused = cluster.shunter("run", "--image", "busybox", "--name", "boxed", "--no-stdin", "--", "true", code=125)
    assert "no node can run busybox: has no docker runtime (1 node); install Docker or podman on a node" in refused.err
    assert "--queue-timeout TIME" in refused.err
    assert cluster.items("jobs", "--name", "boxed") == []


def test_a_node_that_accepts_tasks_is_uncordoned_without_effect(cluster: Cluster) -> None:
    [node] = cluster.items("nodes")
    assert cluster.shunter("node", "uncordon", node["name"]).out == f"{node['name']} accepts new tasks\n"


def test_options_that_a_running_cluster_ignores_are_named(cluster: Cluster) -> None:
    assert cluster.shunter("up", "--detach", "--policy", "spread", "--cpu", "3", "--label", "a=b").err == (
        "shunter: ignored --policy, --cpu, --label: the cluster runs already; stop it with `shunter down` first\n"
    )
    assert cluster.shunter("up", "--detach").err == ""


def test_a_kind_of_another_system_is_answered_with_all_kinds(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("apiVersion: shunter.dev/v1\nkind: Pod\nmetadata: {name: a}\nspec: {command: [ls]}\n")
    for command in (("submit", str(file)), ("validate", "-f", str(file))):
        said = cluster.shunter(*command, code=2).err
        assert "kind: must be Job, Testbed, BatchJob or Scheduling (got 'Pod')" in said


def test_a_backup_into_no_directory_names_it(cluster: Cluster, tmp_path: Path) -> None:
    said = cluster.shunter("backup", str(tmp_path / "no" / "x.db"), code=2).err
    assert said.endswith(f"cannot be written: the directory {tmp_path}/no does not exist\n")


def test_a_policy_without_a_module_says_where_it_was_looked_for(home: Cluster) -> None:
    said = home.shunter("up", "--detach", "--policy", "nosuch:Cls", code=2).err
    assert said.startswith("shunter: error: --policy: no module nosuch in ")
    assert said.endswith("; start the command in the directory of nosuch.py\n")


def test_a_bare_number_is_a_timeout_in_seconds(cluster: Cluster) -> None:
    cluster.shunter("run", "--timeout", "50", "--", "true")


def test_a_name_in_use_says_what_to_do(cluster: Cluster) -> None:
    cluster.shunter("run", "--name", "busy", "--hold", "--detach", "--", "true")
    assert cluster.shunter("run", "--name", "busy", "--", "false", code=125).err == (
        "shunter: error: --name: a different job named busy is still pending (run 1); wait for it, stop it with "
        "`shunter stop busy`, or choose another name\n"
    )
    cluster.shunter("stop", "busy")


def test_only_services_are_scaled(cluster: Cluster) -> None:
    cluster.shunter("run", "--name", "demo", "--", "true")
    assert cluster.shunter("scale", "demo", "3", code=2).err == (
        "shunter: error: job 'demo' is a batch job; only services can be scaled; to run it again: "
        "`shunter retry demo`\n"
    )
    assert "only services can be restarted" in cluster.shunter("restart", "demo", code=2).err


def test_a_queue_that_does_not_exist_is_not_made_by_mistake(cluster: Cluster) -> None:
    for verb in ("pause", "resume", "purge", "delete"):
        said = cluster.shunter("queue", verb, "nosuch", code=2).err
        assert "queue 'nosuch'" in said and "`shunter queues`" in said
    assert "nosuch" not in cluster.shunter("queues").out
    cluster.shunter("queue", "set", "gala", "--running-max", "3")
    cluster.shunter("queue", "pause", "gala")
    assert cluster.shunter("queue", "delete", "gala").out == "rules of gala removed; its tasks continue\n"


def test_submit_takes_the_file_without_an_option(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: plain}\nspec: {command: ['true']}\n")
    assert cluster.shunter("submit", str(file), "--wait").out == "plain submitted\n"
    said = cluster.shunter("submit", str(tmp_path / "nofile"), code=2).err
    assert said.startswith("shunter: error: FILE: cannot be read: No such file or directory")
    assert "FILE: is missing" in cluster.shunter("submit", code=2).err
