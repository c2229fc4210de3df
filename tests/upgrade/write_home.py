"""Write a home of this version for tests/upgrade: `python -m tests.upgrade.write_home`, once for each release.

A real cluster gets work of every kind, and its manager is killed in the middle. Three files are written: the store as
SQL, the longest change of each kind, and the contents that later versions must find. Read them before you commit them:
nothing in them may name your machine."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from scripts.dump_home import dump
from shunter import __version__
from shunter.adapters.sqlite.store import SqliteStore
from shunter.engine.recovery import load_state
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.remote import RemoteCluster
from tests.upgrade.home_files import FOLDER, by_field, describe, logged_changes, longest_of_each_kind, restore

SLEEP = "command: [sleep, '99999'], resources: {cpu: 100m}"
TRUE = "command: ['true'], resources: {cpu: 100m}"
JOBS = f"""
long: {{command: [sleep, '99999'], count: 2, priority: 70, resources: {{cpu: 100m, licence/m: 1}}}}
gang: {{{SLEEP}, count: 2, gang: true}}
once: {{{SLEEP}, at_most_once: true, disconnect: {{replace_after: 1m, stop_after: 1h}}}}
then: {{{TRUE}, after: [ok, {{job: long, when: finished}}]}}
flaky: {{command: [sh, -c, 'exit 5'], restart: {{policy: on-failure, delay: 7d, delay_max: 7d}}}}
late: {{{TRUE}, constraints: ["has(node.labels.gpu)"], deadline: 1s}}
held: {{{TRUE}, hold: true}}
slow: {{{TRUE}, count: 2, queue: closed}}
array: {{{TRUE}, array: '1-9:2', constraints: ["has(node.labels.gpu)"]}}
sys: {{{SLEEP}, type: system}}
nightly: {{{TRUE}, schedule: {{cron: '30 2 * * *', timezone: Europe/Berlin, overlap: queue}}}}
thumb: {{{TRUE}, parameters: {{required: [width], optional: {{format: webp}}, payload: optional}}}}
web: {{type: service, count: 3, command: [sh, -c, exec sleep 91111], resources: {{cpu: 100m}},
  update: {{healthy_for: 10ms}}}}
"""
WEB_2 = """web: {type: service, count: 3, command: [sh, -c, exec sleep 92222], resources: {cpu: 100m},
  update: {healthy_for: 300d, deadline: 366d}}"""
OBJECTS = [
    ("Testbed", "bench", "{slotsPerNode: 2, nodeLabel: bench, resourcesPerSlot: {cpu: 100m}}"),
    ("BatchJob", "hi", "{commandSpec: {command: ['true']}}"),
    ("BatchJob", "stay", "{commandSpec: {command: [sleep, '99999']}, onNodeLoss: restart}"),
]
PAST = ("Scheduling", "past", "{queueBased: [{name: hi}], testbed: {name: bench}}")
NOW = ("Scheduling", "now", "{queueBased: [{name: stay}], testbed: {name: bench}}")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="shunter-home-"))
    homes: list[Cluster] = []

    def make_home() -> Cluster:
        homes.append(Cluster(folder / str(len(homes))))
        homes[-1].home.mkdir()
        return homes[-1]

    try:
        store = fill(make_home)
        write_files(store, folder / "copy.db")
    finally:
        for home in homes:
            home.kill_all()
        shutil.rmtree(folder)


def fill(make_home: Callable[[], Cluster]) -> Path:
    """Returns the store of a cluster that was killed while it had work of every kind."""
    remote = RemoteCluster(make_home, timeout="30s")
    manager = remote.manager
    shunter = manager.shunter
    remote.start_manager()
    remote.add_worker("n1", "--cpu", "4", "--memory", "4Gi", "--label", "disk=ssd")
    remote.add_worker("n2", "--cpu", "1", "--memory", "1Gi")

    shunter("run", "--name", "ok", "--", "true")
    shunter("run", "--name", "bad", "--", "sh", "-c", "exit 3", code=3)
    shunter("run", "--name", "sums", "--count", "4", "--", "sh", "-c", 'test "$SHUNTER_TASK_INDEX" != 2', code=None)
    shunter("retry", "sums", "--failed", code=None)
    shunter("cluster", "set", "licence/m=5", "preemption=20", "hold_after=10m")
    shunter("queue", "set", "night", "--running-max", "2")
    shunter("queue", "pause", "closed")
    shunter("node", "label", "n1", "bench=0", "rack=b7")
    shunter("node", "attribute", "n1", "cores=big")
    shunter("node", "cordon", "n2")
    shunter("node", "uncordon", "n2")
    remote.close()  # a manager that stops in order takes a snapshot
    remote.start_manager()
    for worker in remote.workers.values():
        worker.start()
        remote.until(worker.name, "ready")

    submit(manager, JOBS)
    shunter("dispatch", "thumb", "--param", "width=200", "--wait")
    shunter("cron", "pause", "nightly")
    manager.until("web", "running")
    eventually(lambda: [task["state"] for task in manager.items("tasks", "web")] == ["running"] * 3, "web is up")
    shunter("restart", "web/1")
    shunter("scale", "web", "2")
    shunter("stop", "web/0")
    submit(manager, WEB_2, "update")

    apply(manager, *OBJECTS, PAST)
    eventually(lambda: state_of(manager, "scheduling", "past") == "CompletedState", "the Scheduling has ended")
    shunter("delete", "scheduling", "past")
    apply(manager, NOW)
    eventually(lambda: state_of(manager, "batchjob", "stay") == "RunningState", "its executor runs")
    shunter(
        "run",
        "--detach",
        "--name",
        "mv",
        "--cpu",
        "100m",
        "--",
        "sh",
        "-c",
        'trap "" TERM; while true; do sleep 1; done',
    )
    manager.until("mv", "running")
    shunter("move", "mv/0", "n2", code=None)
    shunter("hold", "long")
    for keeper in [process for process in remote.workers["n2"].home.processes() if process.is_keeper]:
        os.kill(keeper.pid, signal.SIGKILL)
    eventually(lambda: any(task["attempt"] > 1 for task in manager.items("tasks", "sys")), "its task runs again")
    shunter("run", "--detach", "--name", "gone", "--cpu", "100m", "--", "sleep", "99999")
    shunter("stop", "gone", code=None)
    manager.kill_manager()
    return manager.home / "store.db"


def submit(manager: Cluster, jobs: str, verb: str = "submit") -> None:
    """Jobs in short: a line `NAME: SPEC` for each."""
    documents = []
    for entry in jobs.strip().replace("\n  ", " ").splitlines():
        name, spec = entry.split(": ", 1)
        documents.append(f"apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {spec}\n")
    manager.shunter(verb, "-f", "-", stdin="---\n".join(documents))


def apply(manager: Cluster, *objects: tuple[str, str, str]) -> None:
    documents = [
        f"apiVersion: batchjob.gcr.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        for kind, name, spec in objects
    ]
    manager.shunter("apply", "-f", "-", stdin="---\n".join(documents))


def state_of(manager: Cluster, kind: str, name: str) -> str:
    with manager.client() as client:
        return str(client.get(kind, name).status["state"])


def write_files(store: Path, copy: Path) -> None:
    target = FOLDER / f"home-{__version__}.sql"
    target.write_text("\n".join(dump(store)) + "\n", encoding="utf-8")
    restore(__version__, copy)
    changes, contents = asyncio.run(read(copy))
    write_lines(FOLDER / f"changes-{__version__}.json", changes)
    write_lines(FOLDER / f"contents-{__version__}.json", contents)
    print(f"{target.name}: {target.stat().st_size:,} bytes, {len(changes)} kinds of changes")


def write_lines(path: Path, values: dict[str, object]) -> None:
    """One line for each value, so that a diff is readable."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


async def read(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    store = SqliteStore(path)
    await store.open()
    try:
        longest = longest_of_each_kind(await logged_changes(store))
        state = await load_state(store)
        return {kind: by_field(change) for kind, change in longest.items()}, await describe(store, state)
    finally:
        await store.close()


if __name__ == "__main__":
    main()
