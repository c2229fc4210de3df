"""The commands that show state: jobs, job, tasks, why, nodes, node, events, logs, top."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from tests.unit.cli.conftest import Cluster, Reply, Shunter, page
from tests.unit.cli.render.test_tables import on_terminal
from tests.unit.sdk.scripted_server import answer, chunks, job_document, raw_response

TASK = {
    "name": "render/0", "index": 0, "state": "failed", "attempt": 2, "node": "vm", "exit_code": 3,
    "started_at": "2026-01-02T03:04:05.000Z", "ended_at": "2026-01-02T03:04:07.500Z", "reason": "exit code 3",
}  # fmt: skip
NODE = {
    "name": "vm", "id": 1, "state": "ready", "eligible": True, "reason": None, "datacenter": "berlin",
    "labels": {"disk": "ssd"}, "attributes": {"os": "linux"}, "capacity": {"cpu": "2", "memory": "7Gi"},
    "reserved": {"cpu": "1500m"}, "tasks": 3, "heard_at": "2026-01-02T03:04:05.000Z",
}  # fmt: skip
CLUSTER = {
    "name": "yard", "version": "0.1.0", "state_version": 250, "epoch": 1, "policy": "e-pvm", "heartbeat_s": 1.0,
    "simulated": False, "started_at": "2026-01-02T03:04:05.000Z", "nodes": {"ready": 1},
    "jobs": {"running": 1}, "tasks": {"running": 3}, "capacity": {"cpu": "2"}, "reserved": {"cpu": "1500m"},
    "licences": {"matlab": {"total": 5, "used": 2}}, "preemption": "off",
    "reserve_after": "5m", "hold_after": "auto", "fallback": "e-pvm", "lease": "auto", "flight": "on",
}  # fmt: skip
EVENT = {"id": "249-0", "at": "2026-01-02T03:04:05.000Z", "type": "tasks.placed", "name": "render/0-9", "job": "render",
         "tasks": "0-9", "node": "vm", "attempt": 1, "state": "assigned"}  # fmt: skip


def columns(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_jobs_are_a_table_for_people(cluster: Cluster, shunter: Shunter) -> None:
    ended = job_document(
        "render", state="failed", count=10, counts={"succeeded": 7, "failed": 3}, command=["sh", "-c", "a b"],
        started_at="2026-01-02T03:04:06.000Z", ended_at="2026-01-02T03:04:08.500Z", run=12,
    )  # fmt: skip
    cluster.answers["GET /jobs"] = page(ended, job_document("fetch"))
    said = shunter("jobs")
    assert said.code == 0 and said.err == ""
    header, first, second = said.out.splitlines()
    assert header.split() == ["NAME", "RUN", "STATE", "DONE", "AGE", "ELAPSED", "COMMAND"]
    assert first.split()[:3] == ["render", "12", "failed"] and "10/10 (3 failed)" in first
    assert first.endswith("2.5s  sh -c 'a b'")
    assert second.split()[:4] == ["fetch", "1", "pending", "0/1"]
    assert header.index("STATE") == first.index("failed") == second.index("pending")
    assert "\x1b" not in said.out


def test_jobs_are_asked_for_with_all_filters(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = page()
    assert shunter("jobs", "-s", "running", "--label", "team=film", "-l", "5", "-n", "*").out.split()[0] == "NAMESPACE"
    assert cluster.received == ["GET /jobs?namespace=%2A&state=running&label=team%3Dfilm&limit=5"]


def test_a_list_that_was_cut_says_so(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = page(job_document("a"), cursor="c1")
    assert "--limit 0" in shunter("jobs", "--limit", "1").err


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_lists_are_the_same_for_programs(cluster: Cluster, shunter: Shunter, output: str, read: object) -> None:
    cluster.answers["GET /jobs"] = page(job_document("a"), job_document("b"))
    found = read(shunter("jobs", "--output", output).out)  # type: ignore[operator]
    assert [item["name"] for item in found["items"]] == ["a", "b"]
    assert found["items"][0]["submitted_at"] == "2026-01-02T03:04:05.678Z"


def test_a_job_for_programs_has_all_its_tasks(cluster: Cluster, shunter: Shunter) -> None:
    pages = iter([page(TASK, cursor="1"), page(TASK | {"index": 1, "name": "render/1"})])
    cluster.answers |= {
        "GET /jobs/render@3": answer(200, job_document(ended_at=None)),
        "GET /jobs/id:7/tasks": lambda _: next(pages),
    }
    found = json.loads(shunter("job", "render@3", "-o", "json").out)
    assert {"name", "state", "counts", "submitted_at", "ended_at"} <= found.keys()
    assert [task["name"] for task in found["tasks"]] == ["render/0", "render/1"]
    assert {"index", "state", "attempt", "node", "exit_code", "started_at", "ended_at"} <= found["tasks"][0].keys()


def test_a_job_for_people_shows_what_is_not_well(cluster: Cluster, shunter: Shunter) -> None:
    view = job_document(state="failed", counts={"succeeded": 9, "failed": 1}, count=10, reason="a task failed")
    cluster.answers |= {"GET /jobs/render": answer(200, view), "GET /jobs/id:7/tasks": page(TASK)}
    said = shunter("job", "render")
    assert "failed: a task failed" in said.out and "9 succeeded, 1 failed" in said.out
    assert "render/0" in said.out and "exit code 3" in said.out
    assert cluster.received[-1] == "GET /jobs/id:7/tasks?namespace=default&state=failed&limit=10"


def test_what_was_replaced_is_listed_before_what_stands_for_it_now(cluster: Cluster, shunter: Shunter) -> None:
    tasks = [{**TASK, "name": f"web/{name}", "index": int(name[0])} for name in ("1~2", "0~11", "0~9", "0", "1")]
    cluster.answers |= {"GET /jobs/web": answer(200, job_document("web")), "GET /jobs/id:7/tasks": page(*tasks)}
    names = [line.split()[0] for line in shunter("tasks", "web", "--all").out.splitlines()]
    assert names == ["TASK", "web/0~9", "web/0~11", "web/0", "web/1~2", "web/1"]
    assert cluster.received[-1].startswith("GET /jobs/id:7/tasks?namespace=default&all=true")
    assert shunter("logs", "web/1~x").code == 2


def test_a_job_of_several_groups_shows_what_each_of_them_is(cluster: Cluster, shunter: Shunter) -> None:
    edge = {"name": "web", "when": "succeeded", "otherwise": "cancel", "open": True}
    groups = [
        {"name": "web", "count": 2, "counts": {"running": 2}, "command": ["serve"], "resources": {"cpu": "1"}},
        {"name": "check", "count": 1, "counts": {"waiting": 1}, "command": ["look", "at it"], "after": [edge]},
    ]
    cluster.answers |= {
        "GET /jobs/shop": answer(200, job_document("shop", groups=groups, command=["serve"])),
        "GET /jobs/id:7/tasks": page(),
    }
    lines = shunter("job", "shop").out.splitlines()
    assert not any(line.split()[:1] == ["command"] for line in lines)
    assert ["web", "2", "running", "-", "cpu", "1", "serve"] in [line.split() for line in lines]
    assert ["check", "1", "waiting", "web", "look", "'at", "it'"] in [line.split() for line in lines]


def test_a_service_counts_what_is_up_and_shows_what_is_replaced_beside_its_successor(
    cluster: Cluster, shunter: Shunter
) -> None:
    update = {"status": "updating", "wanted": 1, "updated": 1, "healthy": 1, "reason": None, "began_at": None}
    fields = {"type": "service", "count": 1, "counts": {"queued": 1}, "image": "shop:2", "command": ["serve"]}
    view = job_document("shop", **fields, update=update | {"good_version": 1})
    tasks = [TASK | {"name": "shop/0", "state": "running"}, TASK | {"name": "shop/0", "state": "queued"}]
    cluster.answers |= {
        "GET /jobs/shop": answer(200, view), "GET /jobs/id:7/tasks": page(*tasks), "GET /jobs": page(view)
    }  # fmt: skip
    said = shunter("job", "shop").out
    assert ["image", "shop:2"] in [line.split() for line in said.splitlines()]
    assert [line.split()[1] for line in said.splitlines() if line.startswith("shop/0")] == ["running", "queued"]
    [row] = columns(shunter("jobs").out)[1:]
    assert row[3:5] == ["0/1", "up"] and row[-2:] == ["[shop:2]", "serve"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("quarantine: tasks of 3 jobs failed there", "ready, quarantine"),
        ("cordon: disk swap", "ready, cordon"),
        ("not connected yet", "ready, not connected yet"),
    ],
)
def test_nodes_say_in_a_word_why_they_take_nothing(cluster: Cluster, shunter: Shunter, reason: str, words: str) -> None:
    cluster.answers["GET /nodes"] = page(NODE | {"state": "ready", "eligible": False, "reason": reason})
    assert words in shunter("nodes").out


def test_a_node_shows_the_ports_that_are_taken(cluster: Cluster, shunter: Shunter) -> None:
    taken = NODE | {"reserved": {"cpu": "1", "port/8080": "1"}}
    cluster.answers |= {"GET /nodes/w1": answer(200, taken)}
    said = shunter("node", "show", "w1").out
    assert ["ports", "8080"] in [line.split() for line in said.splitlines()]


@pytest.mark.parametrize(("healthy", "words"), [(True, "healthy, web=20001"), (False, "not healthy, web")])
def test_a_running_task_says_how_it_is_and_where(cluster: Cluster, shunter: Shunter, healthy: bool, words: str) -> None:
    running = TASK | {"state": "running", "reason": None, "healthy": healthy, "ports": {"web": 20001}}
    cluster.answers |= {"GET /jobs/render": answer(200, job_document()), "GET /jobs/id:7/tasks": page(running)}
    assert words in shunter("tasks", "render").out


def test_tasks_say_what_they_are_for_where_they_differ(cluster: Cluster, shunter: Shunter) -> None:
    title, what = "ENTRY", {"entry": "35"}
    cluster.answers |= {"GET /jobs/render": answer(200, job_document()), "GET /jobs/id:7/tasks": page(TASK | what)}
    header, row = columns(shunter("tasks", "render").out)
    assert (header[2], row[2]) == (title, "35")
    cluster.answers["GET /jobs/id:7/tasks"] = page(TASK, TASK | what)  # a later group may be an array, too
    header, plain, row = columns(shunter("tasks", "render").out)
    assert (header[2], plain[2], row[2]) == (title, "-", "35")


def test_tasks_are_listed_by_state(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {"GET /jobs/render": answer(200, job_document()), "GET /jobs/id:7/tasks": page(TASK)}
    header, row = columns(shunter("tasks", "render", "--state", "failed").out)
    assert header == ["TASK", "STATE", "ATTEMPT", "NODE", "EXIT", "STARTED", "ELAPSED", "REASON"]
    assert row[:5] == ["render/0", "failed", "2", "vm", "3"] and row[6] == "2.5s"
    assert "state=failed" in cluster.received[-1]


def test_why_is_a_sentence_and_its_reasons(cluster: Cluster, shunter: Shunter) -> None:
    reasons = [{"text": "too little memory", "nodes": 4, "examples": ["a", "b"]}]
    why = {"name": "render", "state": "pending", "sentence": "render waits.", "counts": {}, "reasons": reasons}
    cluster.answers["GET /jobs/render/why"] = answer(200, why)
    lines = shunter("why", "render").out.splitlines()
    assert lines[0] == "render waits."
    assert lines[-1].split() == ["4", "too", "little", "memory", "a,", "b"]


def test_nodes_show_what_is_reserved_of_them(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /nodes"] = page(NODE, NODE | {"name": "other", "state": "down", "labels": {}})
    header, vm, other = columns(shunter("nodes").out)
    assert header == ["NAME", "STATE", "CPU", "MEMORY", "TASKS", "ISOLATION", "DATACENTER", "LAST", "SEEN", "LABELS"]
    assert [*vm[:7], vm[8]] == ["vm", "ready", "1.5/2", "0/7Gi", "3", "none", "berlin", "disk=ssd"]
    assert other[:2] == ["other", "down"]
    assert len(columns(shunter("nodes", "--state", "down").out)) == 2
    assert "`shunter node forget NODE`" in shunter("nodes").err  # only it says what to do with nodes that are gone
    assert shunter("nodes", "--state", "ready").err == ""
    assert len(columns(shunter("nodes", "--label", "disk=ssd").out)) == 2


def test_a_node_is_shown_with_the_tasks_that_run_there(cluster: Cluster, shunter: Shunter) -> None:
    task = {"name": "render/4", "namespace": "default", "index": 4, "attempt": 1, "cpu_s": 1.25,
            "memory_bytes": 3 * 2**20, "processes": 2}  # fmt: skip
    machine = {"at_ms": 1, "cpu_busy": 0.25, "memory_total_bytes": 2**30}
    stats = {"name": "vm", "at": "2026-01-02T03:04:05.000Z", "machine": machine, "tasks": [task]}
    cluster.answers |= {"GET /nodes/vm": answer(200, NODE), "GET /nodes/vm/stats": answer(200, stats)}
    out = shunter("node", "show", "vm").out
    assert "cpu_busy=0.25, memory_total=1Gi" in out
    assert out.splitlines()[-1].split() == ["render/4", "1", "1.25s", "3Mi", "2"]


@pytest.mark.parametrize("status", [404, 503])
def test_a_node_whose_worker_is_silent_is_shown_all_the_same(cluster: Cluster, shunter: Shunter, status: int) -> None:
    """And at once: that it does not answer is asked only once."""
    cluster.answers |= {"GET /nodes/vm": answer(200, NODE), "GET /nodes/vm/stats": answer(status, {"detail": "gone"})}
    said = shunter("node", "show", "vm")
    assert "disk=ssd" in said.out and said.err == ""
    assert cluster.received == ["GET /nodes/vm", "GET /nodes/vm/stats"]


def test_why_a_node_is_down_is_said_once(cluster: Cluster, shunter: Shunter) -> None:
    down = NODE | {"state": "down", "eligible": False, "reason": "down: no heartbeat for 3.2 s"}
    cluster.answers["GET /nodes/vm"] = answer(200, down)
    assert "  state      down: no heartbeat for 3.2 s\n" in shunter("node", "show", "vm").out


def test_labels_are_set_and_removed(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["PATCH /nodes/vm"] = answer(200, NODE)
    assert shunter("node", "label", "vm", "disk=ssd", "rack-", "note=").out == "vm labels: disk=ssd\n"
    assert cluster.server.received[0].json == {"labels": {"disk": "ssd", "rack": None, "note": ""}}
    refused = shunter("node", "label", "vm", "rack")
    assert refused.code == 2 and "KEY=VALUE to set it" in refused.err


def test_the_cluster_is_shown_for_people_and_for_programs(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /cluster"] = answer(200, CLUSTER)
    lines = shunter("cluster").out.splitlines()
    assert lines[0] == "yard, version 0.1.0"
    assert [line.split() for line in lines if line.split()[0] in ("heartbeat", "reserved", "licences")] == [
        ["reserved", "cpu", "1.5/2"],
        ["licences", "matlab", "2", "of", "5", "used"],
        ["heartbeat", "every", "1", "s"],
    ]
    assert json.loads(shunter("cluster", "-o", "json").out) == CLUSTER


def test_a_heartbeat_of_simulated_nodes_is_rounded(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /cluster"] = answer(200, CLUSTER | {"simulated": True, "heartbeat_s": 5.004})
    assert shunter("cluster").out.splitlines()[-1].split() == ["heartbeat", "every", "5", "s"]


def test_licences_are_set_beside_other_settings(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["PATCH /cluster"] = answer(200, CLUSTER)
    shunter("cluster", "set", "licence/matlab=5", "licence/old=none", "licence/odd=many", "heartbeat=2s")
    wanted = {"heartbeat": "2s", "licences": {"matlab": 5, "old": None, "odd": "many"}}
    assert cluster.server.received[0].json == wanted


def test_a_setting_is_changed_and_the_cluster_shown(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["PATCH /cluster"] = answer(200, CLUSTER | {"heartbeat_s": 2.5})
    assert "every 2.5 s" in shunter("cluster", "set", "heartbeat=2500ms").out
    assert cluster.server.received[0].json == {"heartbeat": "2500ms"}
    assert yaml.safe_load(shunter("cluster", "set", "heartbeat=auto", "-o", "yaml").out)["heartbeat_s"] == 2.5
    refused = shunter("cluster", "set", "heartbeat")
    assert refused.code == 2 and "KEY=VALUE" in refused.err


def test_events_are_the_latest_ones(cluster: Cluster, shunter: Shunter) -> None:
    """Asks for nothing that only cluster-wide credentials see: tenants list their events too."""
    cluster.answers["GET /events"] = page(EVENT | {"id": "250-0"}, EVENT)
    lines = shunter("events", "--limit", "2").out.splitlines()
    assert lines[2].split()[:4] == ["250-0", "2026-01-02T03:04:05.000Z", "tasks.placed", "render/0-9"]
    assert lines[2].endswith("assigned, tasks 0-9, on vm, attempt 1")
    assert lines[1].split()[0] == EVENT["id"]
    assert cluster.received == ["GET /events?namespace=%2A&order=newest&limit=2"]


def test_followed_events_are_a_line_each_for_programs(cluster: Cluster, shunter: Shunter) -> None:
    stream = f"id: 249-0\nevent: x\ndata: {json.dumps(EVENT)}\n\n".encode()
    replies: Iterator[Reply] = iter([chunks(200, stream), answer(404, {"detail": "too old"})])
    cluster.answers["GET /events"] = lambda _: next(replies)
    said = shunter("events", "-f", "--after", "240", "--job", "render", "-o", "json")
    assert json.loads(said.out) == EVENT
    assert cluster.received[0] == "GET /events?namespace=default&job=render&after=240&follow=true"
    assert said.code == 2 and "too old" in said.err


def test_logs_go_where_the_task_sent_them(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/render": answer(200, job_document()),
        "GET /jobs/id:7/tasks/4/logs": lambda received: raw_response(
            200, b"oops\n" if "stderr" in received.path else b"fine\n"
        ),
    }
    both = shunter("logs", "render/4")
    assert (both.out, both.err) == ("fine\n", "oops\n")
    only_errors = shunter("logs", "render/4", "--stderr", "--attempt", "2")
    assert (only_errors.out, only_errors.err) == ("oops\n", "")
    assert "attempt=2" in cluster.received[-1]


def test_followed_logs_show_both_streams(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/render": answer(200, job_document()),
        "GET /jobs/id:7/tasks": page(TASK),
        "GET /jobs/id:7/tasks/0/logs": lambda received: chunks(
            200, b"oops\n" if "stderr" in received.path else b"fine\n"
        ),
    }
    both = shunter("logs", "render", "-f")
    assert (both.out, both.err) == ("fine\n", "oops\n")


def test_top_prints_once_where_there_is_no_terminal(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /cluster": answer(200, CLUSTER),
        "GET /nodes": page(NODE),
        "GET /jobs": page(job_document("render-of-the-night", command=["sh", "-c", "[red]x" + "y" * 500])),
    }
    out = shunter("top").out
    assert "yard: up" in out and "1.5 of 2" in out
    assert "render-of-the-night  pending" in out and "[red]xyy" in out


def test_long_labels_of_nodes_hide_no_other_column(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.answers["GET /nodes"] = page(NODE | {"labels": {"example.org/a-long-key": "x" * 60}})
    drawn = on_terminal(lambda: shunter("nodes"), monkeypatch, 80)
    assert "ISOLATION" in drawn and "LAST SEEN" in drawn and "example.org/a-long-key…" in drawn


def test_top_shows_which_nodes_accept_no_tasks(cluster: Cluster, shunter: Shunter) -> None:
    cordoned = NODE | {"eligible": False, "reason": "cordon: disk"}
    cluster.answers |= {"GET /cluster": answer(200, CLUSTER), "GET /nodes": page(cordoned), "GET /jobs": page()}
    assert "vm    ready, cordon  1.5/2" in shunter("top").out


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--state", "up"), "--state: must be one of ready, suspect, down, draining, drained (got 'up')"),
        (("--label", "disk"), "--label: must have the form KEY=VALUE (got 'disk')"),
    ],
)
def test_nodes_are_not_filtered_by_what_cannot_be(shunter: Shunter, option: tuple[str, str], said: str) -> None:
    assert shunter("nodes", *option).err == f"shunter: error: {said}\n"


def test_jobs_are_found_by_a_pattern(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = page(*(job_document(name) for name in ("render-1", "fetch", "render-2", "render-3")))
    said = shunter("jobs", "--name", "render*", "--limit", "2")
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == ["render-1", "render-2"]
    assert "fetch" in shunter("jobs", "--name", "fetch").out


def test_a_job_whose_tasks_all_wait_to_start_again_is_pending(cluster: Cluster, shunter: Shunter) -> None:
    again = job_document("again", state="running", counts={"queued": 1}, started_at="2026-01-02T03:04:06.000Z")
    busy = job_document("busy", state="running", counts={"queued": 1, "running": 1}, count=2)
    cluster.answers |= {
        "GET /jobs": page(again, busy),
        "GET /jobs/again": answer(200, again),
        "GET /jobs/id:7/tasks": page(TASK | {"state": "queued"}),
    }
    _, first, second = columns(shunter("jobs").out)
    assert (first[2], second[2]) == ("pending", "running")
    assert "state      pending: its tasks wait to start again; `shunter why again`" in shunter("job", "again").out


def test_pending_jobs_are_listed_with_those_that_wait_again(cluster: Cluster, shunter: Shunter) -> None:
    again = job_document("again", state="running", counts={"queued": 1})
    busy = job_document("busy", state="running", counts={"running": 1})
    cluster.answers["GET /jobs"] = page(job_document("new"), again, busy)
    assert [row[0] for row in columns(shunter("jobs", "--state", "pending").out)] == ["NAME", "new", "again"]
    assert "state=pending&state=running" in cluster.received[0]


def test_a_running_task_that_was_lost_says_how_often(cluster: Cluster, shunter: Shunter) -> None:
    task = TASK | {"state": "running", "exit_code": None, "ended_at": None, "reason": None, "lost": 2}
    cluster.answers |= {"GET /jobs/render": answer(200, job_document()), "GET /jobs/id:7/tasks": page(task)}
    assert shunter("tasks", "render").out.rstrip().endswith("was lost 2 times")
