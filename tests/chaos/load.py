"""Load for a cluster under crashes: many kinds of jobs, each with a result that does not depend on crashes.

Every attempt writes a line to a ledger, so that the cluster's records can be compared with what happened."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shunter import Client
from tests.e2e.manifests import shell

PATIENCE_S = 120.0
UNFINISHED_TASKS_MAX = 300  # so that what is left at the end takes a bounded time
PAUSE_S = 0.2
SOON = {"policy": "on-failure", "delay": "20ms", "delay_max": "100ms"}


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A job that the cluster has taken, and the state in which each task of it must end; None: it was stopped, and
    may have ended in any."""

    id: int
    name: str
    states: list[str] | None


Attempt = tuple[str, int, int]  # job, index, attempt


class Load:
    """Submits until it is told to stop, in a thread of its own, as a patient client. `bulk` is the number of tasks of
    one large array, which it submits first, and which runs whenever nothing else does."""

    def __init__(self, connect: Callable[[], Client], folder: Path, seed: int, bulk: int = 0) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.failure: BaseException | None = None
        self._connect = connect
        self._end_log, self._spans = folder / "ledger", folder / "spans"
        for file in (self._end_log, self._spans):
            file.touch()
            file.chmod(0o666)  # tasks may run as another user
        self._bulk_count = bulk
        self.bulk: Acknowledged | None = None
        self._random = random.Random(seed)
        self._serial = 0
        self._started = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Returns when the cluster has answered once: an outage is waited out, a cluster that never was is not."""
        self._thread.start()
        assert self._started.wait(PATIENCE_S), self.failure

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the load does not end"
        if self.failure is not None:
            raise self.failure

    def ends(self) -> dict[Attempt, list[datetime]]:
        """When each attempt was about to end, by its own word. More than one time means that it ran twice."""
        found: dict[Attempt, list[datetime]] = {}
        for row in self._end_log.read_text().splitlines():
            job, index, attempt, at_ms = row.split()
            at = datetime.fromtimestamp(int(at_ms) / 1000, UTC)
            found.setdefault((job, int(index), int(attempt)), []).append(at)
        return found

    def spans(self) -> dict[str, list[tuple[float, float]]]:
        """By node: from when to when each attempt ran that came to its end, in seconds of the machine's uptime."""
        found: dict[str, list[tuple[float, float]]] = {}
        for row in self._spans.read_text().splitlines():
            node, began, ended = row.split()
            found.setdefault(node, []).append((float(began), float(ended)))
        return found

    def _run(self) -> None:
        kinds = (
            self._array,
            self._single_task_jobs,
            self._retried,
            self._failing,
            self._long,
            self._long,
            self._once,
            self._stopped,
        )
        try:
            with self._connect() as client:
                if self._bulk_count:
                    self._submit_bulk(client)
                while not self._stop.wait(PAUSE_S):
                    unfinished = sum(client.cluster().tasks.values()) - self._count_bulk(client)
                    self._started.set()
                    if unfinished < UNFINISHED_TASKS_MAX:
                        self._random.choice(kinds)(client)
        except BaseException as error:
            self.failure = error

    # ---- the large array ----

    def _submit_bulk(self, client: Client) -> None:
        """Its tasks are as short as they can be and still leave a trace."""
        script = f'echo "$SHUNTER_TASK_INDEX $SHUNTER_ATTEMPT" >> {self._bulk_log}'
        self._bulk_log.touch()
        self._bulk_log.chmod(0o666)
        job = client.submit(shell("bulk", script, count=self._bulk_count, priority=1))
        self.bulk = Acknowledged(job.view.id, job.name, ["succeeded"] * self._bulk_count)
        self.acknowledged.append(self.bulk)

    def _count_bulk(self, client: Client) -> int:
        """Its part of the tasks of unfinished jobs."""
        if self.bulk is None or client.job(f"id:{self.bulk.id}").ended:
            return 0
        return self._bulk_count

    def bulk_ends(self) -> Counter[tuple[int, int]]:
        """How often each attempt (index, attempt) of the large array came to its end."""
        rows = (row.split() for row in self._bulk_log.read_text().splitlines())
        return Counter((int(index), int(attempt)) for index, attempt in rows)

    @property
    def _bulk_log(self) -> Path:
        return self._end_log.parent / "bulk"

    # ---- kinds of jobs ----

    def _array(self, client: Client) -> None:
        """Short tasks, which travel as ranges."""
        count = self._random.randint(20, 120)
        self._submit(client, "array", "", count, ["succeeded"] * count)

    def _single_task_jobs(self, client: Client) -> None:
        """Many jobs of one task, in one request."""
        names = [self._name("single") for _ in range(self._random.randint(10, 40))]
        submitted = client.submit_many([self._document(name, "") for name in names])
        assert [each.name for each in submitted] == names
        self.acknowledged += [Acknowledged(each.id, each.name, ["succeeded"]) for each in submitted]

    def _retried(self, client: Client) -> None:
        """The first two attempts fail by themselves; attempts that a crash ended do not count."""
        count = self._random.randint(2, 8)
        script = 'mkdir -p "tries/$SHUNTER_JOB"; echo x >> "tries/$SHUNTER_JOB/$SHUNTER_TASK_INDEX"; '
        script += 'test "$(wc -l < "tries/$SHUNTER_JOB/$SHUNTER_TASK_INDEX")" -gt 2'
        self._submit(client, "retried", script, count, ["succeeded"] * count, restart={**SOON, "max": 2})

    def _failing(self, client: Client) -> None:
        """Every third task fails, again and again, until it has no attempt left."""
        count = self._random.randint(3, 12)
        states = ["failed" if index % 3 == 0 else "succeeded" for index in range(count)]
        script = "test $((SHUNTER_TASK_INDEX % 3)) -ne 0"
        self._submit(client, "failing", script, count, states, restart={**SOON, "max": 1})

    def _long(self, client: Client) -> None:
        """Tasks that are likely to see a crash; urgent, so that the next attempt begins before the last one's fate is
        known."""
        script = f"sleep {self._random.uniform(0.5, 3):.2f}"
        self._submit(client, "long", script, 2, ["succeeded"] * 2, priority=90)

    def _once(self, client: Client) -> None:
        """Tasks of which no two attempts may run at the same time. They tell all the time that they run."""
        beats = self._random.randint(5, 30)
        script = f'for beat in $(seq {beats}); do echo "$SHUNTER_ATTEMPT $(date +%s%3N)" >>'
        script += ' "once-$SHUNTER_JOB-$SHUNTER_TASK_INDEX"; sleep 0.1; done'
        self._submit(client, "once", script, 2, ["succeeded"] * 2, at_most_once=True, priority=90)

    def beats(self) -> dict[str, list[tuple[int, int]]]:
        """Of each task that may run only once at a time: attempt and time in ms of its signs of life."""
        found = {}
        for path in sorted(self._end_log.parent.glob("once-*")):
            rows = [row.split() for row in path.read_text().splitlines()]
            found[path.name] = [(int(attempt), int(at_ms)) for attempt, at_ms in rows]
        return found

    def _stopped(self, client: Client) -> None:
        """Stopped by its user, somewhere in its life."""
        job = client.submit(self._document(self._name("stopped"), "sleep 0.3", count=10))
        self.acknowledged.append(Acknowledged(job.view.id, job.name, None))
        self._stop.wait(self._random.uniform(0, 0.5))
        job.stop(now=self._random.random() < 0.5)

    def _submit(self, client: Client, kind: str, script: str, count: int, states: list[str], **spec: Any) -> None:
        job = client.submit(self._document(self._name(kind), script, count=count, **spec))
        self.acknowledged.append(Acknowledged(job.view.id, job.name, states))

    def _document(self, name: str, script: str, **spec: Any) -> dict[str, Any]:
        """The script, then its lines in the ledger and its exit code. The shell reads the uptime by itself, so that no
        further process is started."""
        line = f'echo "$SHUNTER_JOB $SHUNTER_TASK_INDEX $SHUNTER_ATTEMPT $(date +%s%3N)" >> {self._end_log}'
        span = f'read ended _ < /proc/uptime; echo "$SHUNTER_NODE $began $ended" >> {self._spans}'
        script = f"read began _ < /proc/uptime; {script or ':'}; code=$?; {line}; {span}; exit $code"
        return shell(name, script, dir=str(self._end_log.parent), resources={"cpu": "1"}, **spec)

    def _name(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}-{self._serial}"
