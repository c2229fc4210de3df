"""What must hold after crashes, checked against the cluster's records and what the tasks themselves wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from datetime import datetime, timedelta

from shunter import Client
from shunter.model.rest.cluster_views import EventView
from tests.chaos.load import Acknowledged, Attempt, Load
from tests.e2e.cluster import Cluster, eventually

SETTLE_MAX_S = 120.0
CLOCKS_DIFFER = timedelta(milliseconds=20)  # by how much two ways to read the same clock may
UPTIME_STEP_S = 0.01  # of /proc/uptime
KEEPER_DIED_TWICE = "its keeper died twice while it ran"  # a task cannot know that the faults did it
ENDS = {"tasks.succeeded": "succeeded", "tasks.failed": "failed", "tasks.cancelled": "cancelled"}


def expect_all_ended(client: Client, acknowledged: list[Acknowledged]) -> None:
    """Every acknowledged job has ended, each task of it as its nature is: crashes change no outcome, except
    for a task under which two keepers were killed."""
    for each in acknowledged:
        job = client.job(f"id:{each.id}").wait(SETTLE_MAX_S)
        tasks = list(job.tasks())
        assert job.name == each.name
        assert {task.state for task in tasks} <= {"succeeded", "failed", "cancelled"}
        if each.states is not None:
            wrong = [
                (task, state)
                for task, state in zip(tasks, each.states, strict=True)
                if task.state != ("failed" if (task.reason or "").startswith(KEEPER_DIED_TWICE) else state)
            ]
            assert not wrong, f"{each.name}, tasks that should have ended otherwise: {wrong[:20]}"


def expect_no_job_twice(client: Client, acknowledged: list[Acknowledged]) -> None:
    """A submit whose answer was lost in a crash was repeated: it must not have made a second job."""
    listed = [job.view.id for job in client.jobs()]
    assert sorted(listed) == sorted(each.id for each in acknowledged)


def expect_every_end_once(client: Client, acknowledged: list[Acknowledged]) -> None:
    """The engine's record, event by event: one end for each task, and never a success beside another end."""
    ends: Counter[tuple[str, int]] = Counter()
    for event in client.events(namespace="*"):
        if event.type in ENDS:
            ends.update((str(event.job), index) for index in indexes(event))
    repeated = [task for task, times in ends.items() if times != 1]
    assert not repeated, f"recorded more than once: {repeated[:20]}"
    for each in acknowledged:
        count = client.job(f"id:{each.id}").view.count
        assert all(ends[each.name, index] == 1 for index in range(count)), each


def expect_no_attempt_twice(ends: dict[Attempt, list[datetime]]) -> None:
    """No two processes ever ran under one attempt number."""
    repeated = {attempt: times for attempt, times in ends.items() if len(times) > 1}
    assert not repeated, f"ran twice: {repeated}"


def expect_one_attempt_at_a_time(beats: dict[str, list[tuple[int, int]]]) -> None:
    """The signs of life of an attempt all come before those of the next one."""
    for task, rows in beats.items():
        for attempt in {attempt for attempt, _ in rows}:
            before = [at_ms for earlier, at_ms in rows if earlier < attempt]
            first = min(at_ms for found, at_ms in rows if found == attempt)
            assert not before or max(before) <= first, (
                f"{task}: attempt {attempt} began {max(before) - first} ms too soon"
            )


def expect_successes_really_ran(
    client: Client, acknowledged: list[Acknowledged], ends: dict[Attempt, list[datetime]]
) -> None:
    """For every success that was recorded, that very attempt came to its end, and within the recorded times: nobody
    else's result was taken for it."""
    for each in acknowledged:
        for task in client.job(f"id:{each.id}").tasks(states=["succeeded"]):
            assert task.started_at is not None
            assert task.ended_at is not None
            began, ended = datetime.fromisoformat(task.started_at), datetime.fromisoformat(task.ended_at)
            seen = ends.get((each.name, task.index, task.attempt), [])
            assert any(began - CLOCKS_DIFFER <= at <= ended + CLOCKS_DIFFER for at in seen), (task, seen)


def expect_bulk_really_ran(client: Client, load: Load) -> None:
    """Every task of the large array has one success, of an attempt that ran, and no attempt ran twice."""
    assert load.bulk is not None
    seen = load.bulk_ends()
    repeated = [attempt for attempt, times in seen.items() if times > 1]
    assert not repeated, f"ran twice: {repeated[:20]}"
    for task in client.job(f"id:{load.bulk.id}").tasks():
        assert (task.index, task.attempt) in seen, task


def expect_capacity_respected(client: Client, spans: dict[str, list[tuple[float, float]]]) -> None:
    """At no moment did a node run more tasks of one CPU than it has CPUs. Only attempts are counted that came to their
    end, and only from the first moment at which they surely ran."""
    capacity = {node.name: int(node.capacity["cpu"]) for node in client.nodes()}
    for node, found in spans.items():
        moves = [(began + UPTIME_STEP_S, 1) for began, ended in found if ended > began + UPTIME_STEP_S]
        moves += [(ended, -1) for began, ended in found if ended > began + UPTIME_STEP_S]
        running = 0
        for at_s, move in sorted(moves):  # an end comes before a start of the same moment
            running += move
            assert running <= capacity[node], f"{node} ran {running} tasks at once, at an uptime of {at_s:.2f} s"


def expect_nothing_reserved(cluster: Cluster, absent: Set[str]) -> None:
    """All reservations are returned. A node that is down gets the time to come back, if it is not to stay away."""

    def check() -> bool:
        nodes = cluster.items("nodes")
        is_complete = all(node["state"] == "ready" for node in nodes if node["name"] not in absent)
        return is_complete and all(node["tasks"] == 0 and not reserved(node) for node in nodes)

    eventually(check, f"nothing is reserved: {cluster.items('nodes')}")


def reserved(node: dict[str, dict[str, str]]) -> dict[str, str]:
    return {resource: amount for resource, amount in node["reserved"].items() if amount != "0"}


def indexes(event: EventView) -> Iterator[int]:
    first, _, last = str(event.tasks).partition("-")
    yield from range(int(first), int(last or first) + 1)
