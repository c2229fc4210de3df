"""Dependencies, schedules, dispatches, holds, queues and reruns with real processes."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job, shell
from tests.e2e.task_gates import Gate


def test_jobs_of_a_file_run_in_the_order_of_their_edges(cluster: Cluster, tmp_path: Path) -> None:
    """D-10: a diamond, written in no particular order."""
    seen = tmp_path / "seen"
    script = f'echo "$SHUNTER_JOB" >> {seen}'
    documents = [
        shell("publish", script, after=[{"job": "left"}, {"job": "right"}]),
        shell("left", script, after=[{"job": "fetch"}]),
        shell("right", script, after=[{"job": "fetch"}]),
        shell("fetch", script),
    ]
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(*documents))
    order = seen.read_text().split()
    assert (order[0], sorted(order[1:3]), order[3]) == ("fetch", ["left", "right"], "publish")


def test_a_failure_takes_one_way_and_leaves_the_other(cluster: Cluster) -> None:
    """D-10: the policy of each edge decides; what can come true no more is cancelled with the reason."""
    documents = [
        shell("bad", "exit 3"),
        job("next", after=[{"job": "bad"}]),
        job("after-next", after=[{"job": "next"}]),
        job("rescue", after=[{"job": "bad", "when": "failed"}]),
        job("anyway", after=[{"job": "bad", "otherwise": "run"}]),
    ]
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(*documents), code=1)
    states = {name: cluster.json("job", name)["state"] for name in ("next", "after-next", "rescue", "anyway")}
    assert states == {
        "next": "cancelled", "after-next": "cancelled", "rescue": "succeeded", "anyway": "succeeded",
    }  # fmt: skip
    assert cluster.json("job", "next")["reason"] == "bad@1 has failed, but had to have succeeded"


def test_cycles_and_unknown_jobs_are_refused(cluster: Cluster) -> None:
    """D-10, D-08: with the cycle printed, and nothing taken."""
    circle = [job("a", after=[{"job": "b"}]), job("b", after=[{"job": "a"}])]
    said = cluster.shunter("submit", "-f", "-", stdin=as_yaml(*circle), code=2)
    assert "jobs depend on each other in a cycle: a -> b -> a" in said.err
    said = cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("c", after=[{"job": "nobody"}])), code=2)
    assert "spec.after[0].job: job 'nobody' does not exist" in said.err


def test_a_job_starts_at_its_time(cluster: Cluster) -> None:
    """D-22: not before."""
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(job("later", start_at="1500ms")))
    view = cluster.json("job", "later")
    waited = datetime.fromisoformat(view["started_at"]) - datetime.fromisoformat(view["submitted_at"])
    assert waited.total_seconds() >= 1.5
    assert view["terms"]["start_at"] > view["submitted_at"]


def test_a_job_past_its_time_or_its_failures_fails_for_that_reason(cluster: Cluster) -> None:
    documents = [
        shell("slow", "sleep 60", timeout={"job": "500ms"}),
        shell("many", "exit 1", count=40, failures_max=3),
        shell("late", "sleep 1", deadline="300ms"),
    ]
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(*documents), code=1)
    assert cluster.json("job", "slow")["reason"] == "exceeded timeout.job of 0.50s"
    many = cluster.json("job", "many")
    assert many["state"] == "failed" and "failures_max of 3" in many["reason"]
    assert many["counts"]["cancelled"] > 0
    late = cluster.json("job", "late")
    assert (late["state"], late["terms"]["deadline_missed"]) == ("succeeded", True)
    types = [event["type"] for event in cluster.items("events", "--job", "late", "--limit", "0")]
    assert types.count("job.late") == 1


def test_a_held_job_waits_for_its_release(cluster: Cluster) -> None:
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("held", hold=True)))
    cluster.shunter("run", "--", "/bin/true")
    assert cluster.json("job", "held")["counts"] == {"queued": 1}
    cluster.shunter("release", "held")
    cluster.shunter("wait", "held")


def test_a_payload_arrives_byte_for_byte(cluster: Cluster, tmp_path: Path) -> None:
    """D-57, C-04: a parameterised job, dispatched twice."""
    payload = bytes(range(256)) * 100 + os.urandom(1000)
    (tmp_path / "in").write_bytes(payload)
    script = f'cp "$SHUNTER_PAYLOAD" {tmp_path}/out-$SHUNTER_PARAM_WHICH; echo "$SHUNTER_PARAM_QUALITY"'
    parameters = {"required": ["which"], "optional": {"quality": "high"}, "payload": "required"}
    said = cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("ingest", script, parameters=parameters)))
    assert said.out == "ingest: template saved, run it with `shunter dispatch ingest`\n"
    said = cluster.shunter("dispatch", "ingest", "-p", "wich=1", code=2)
    assert "parameters.which: is required" in said.err and "payload: is required" in said.err
    for which in ("1", "2"):
        cluster.shunter("dispatch", "ingest", "-p", f"which={which}", "--payload", str(tmp_path / "in"), "--wait")
        assert (tmp_path / f"out-{which}").read_bytes() == payload
    assert cluster.shunter("logs", "ingest@2").out == "high\n"
    cluster.shunter("cron", "delete", "ingest")


def test_a_cron_job_fires_every_time_once_also_over_a_killed_manager(home: Cluster, tmp_path: Path) -> None:
    """D-22, C-04: no firing is made twice, and those of a dead manager are made up for as asked."""
    home.up("--cpu", "2")
    seen = tmp_path / "seen"
    schedule = {"cron": "* * * * * *", "overlap": "queue", "catch_up": "all"}
    home.shunter("submit", "-f", "-", stdin=as_yaml(shell("tick", f"echo $SHUNTER_JOB >> {seen}", schedule=schedule)))
    with home.client() as client:
        eventually(lambda: (client.template("tick").last_run or 0) >= 2, "it has fired twice")
        home.kill_manager()
        killed_at = datetime.now(UTC)
        home.up("--cpu", "2")
        eventually(lambda: (client.template("tick").last_run or 0) >= 5, "it fires again")
        client.pause_template("tick")
        eventually(lambda: not client.template("tick").unfinished, "all runs have ended")
        runs = client.template("tick").last_run or 0
    fired = [
        event for event in home.items("events", "--job", "tick", "--limit", "0") if event["type"] == "template.fired"
    ]
    due = [event["reason"] for event in fired]
    assert len(due) == len(set(due)) == runs == len(seen.read_text().split())
    seconds = sorted(int(datetime.fromisoformat(text.removeprefix("due at ")).timestamp()) for text in due)
    assert seconds == list(range(seconds[0], seconds[0] + runs)) and seconds[-1] > killed_at.timestamp()


def test_a_paused_queue_starts_nothing_and_loses_nothing(cluster: Cluster, gate: Gate) -> None:
    """D-54: depth, pause, resume, purge."""
    cluster.shunter("queue", "set", "film", "--running-max", "1")
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("shots", gate.command, count=4, queue="film")))
    gate.reached(1)
    queue = cluster.json("queue", "show", "film")
    assert (queue["queued"], queue["running"]) == (3, 1)
    cluster.shunter("queue", "pause", "film")
    gate.open()
    cluster.shunter("run", "--", "/bin/true")
    with cluster.client() as client:
        found = client.job("shots")
        eventually(lambda: found.refresh().counts == {"succeeded": 1, "queued": 3}, "only what ran has ended")
        cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("more", queue="film")))
        assert cluster.shunter("queue", "purge", "film").out == "film purged: 4 tasks cancelled\n"
    assert cluster.json("job", "more")["state"] == "cancelled"
    cluster.shunter("queue", "delete", "film")
    assert [queue["name"] for queue in cluster.items("queues")] == ["default"]


def test_a_resumed_queue_goes_on(cluster: Cluster) -> None:
    """D-54: what was queued runs; past its limit submits are refused."""
    cluster.shunter("queue", "set", "film", "--queued-max", "5")
    cluster.shunter("queue", "pause", "film")
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("shots", count=5, queue="film")))
    with cluster.client(patience_s=0.0) as client:
        try:
            client.submit(job("past", queue="film"))
            refusal = ""
        except Exception as error:
            refusal = str(error)
    assert "queue 'film' is full: 5 of 5 tasks are queued" in refusal
    cluster.shunter("queue", "resume", "film")
    cluster.shunter("wait", "shots")
    assert cluster.json("job", "shots")["counts"] == {"succeeded": 5}
    cluster.shunter("queue", "delete", "film")


def test_dead_letters_are_replayed_and_failed_tasks_retried(cluster: Cluster, tmp_path: Path) -> None:
    """D-41: tasks that gave up after their restarts run again with their own indexes, once the fault is mended."""
    mended = tmp_path / "mended"
    script = f'echo "$SHUNTER_TASK_INDEX/$SHUNTER_TASK_COUNT"; test "$SHUNTER_TASK_INDEX" -lt 8 -o -e {mended}'
    restart = {"policy": "on-failure", "max": 1, "delay": "10ms"}
    document = as_yaml(shell("work", script, count=10, restart=restart))
    cluster.shunter("submit", "-f", "-", "--wait", stdin=document, code=1)
    letters = sorted(cluster.items("dead", "list"), key=lambda letter: str(letter["name"]))
    assert [(letter["name"], letter["exit_code"]) for letter in letters] == [("work@1/8", 1), ("work@1/9", 1)]
    mended.touch()
    said = cluster.shunter("dead", "replay", str(letters[0]["number"]), "--wait")
    assert said.out == "work@2\n"
    assert cluster.shunter("logs", "work@2").out == "8/10\n"
    assert cluster.shunter("retry", "work@1", "--failed", "--wait").out == "work@3\n"
    assert cluster.json("job", "work@3")["counts"] == {"succeeded": 2}
    assert cluster.shunter("dead", "purge", "--all").out == "purged 1 dead letter\n"
    assert cluster.shunter("retry", "work@1", "--wait").out == "work@4\n"
    assert cluster.json("job", "work")["counts"] == {"succeeded": 10}


def test_exit_codes_have_rules_of_their_own(cluster: Cluster) -> None:
    restart = {
        "policy": "on-failure", "max": 3, "delay": "10ms",
        "on_exit": [{"codes": [3], "action": "fail"}, {"codes": [4], "action": "succeed"}],
    }  # fmt: skip
    documents = [shell(f"exits-{code}", f"exit {code}", restart=restart) for code in (3, 4, 5)]
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(*documents), code=1)
    tasks = [cluster.items("tasks", f"exits-{code}")[0] for code in (3, 4, 5)]
    assert [(task["state"], task["attempt"], task["exit_code"]) for task in tasks] == [
        ("failed", 1, 3), ("succeeded", 1, 4), ("failed", 4, 5),
    ]  # fmt: skip
