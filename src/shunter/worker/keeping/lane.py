"""The keeper's loop: one lane, one task at a time. Read `Lane.run` first; `worker.protocol` describes the messages.

A short task costs one spawn, two polls and two waits. Anything rarer (output, a message, a task that runs on, limits)
leaves this path.
"""

from __future__ import annotations

import os
import select
import sys
from time import time

from .kernel import adopt_orphans
from .limits import Limits
from .link import Link
from .results import EndedRun, Results
from .scratch import Scratch
from .segments import ERR, OUT, Segments
from .task import Starter, Task, why_not_started
from .tree import Tree
from .wire import VERSION, decode, encode
from .work import FIRST, LAST, Queue, Range, Spec, Work

TYPE_CHECKING = False  # the real one, in `typing`, would cost every keeper a megabyte
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    import _signal as signal  # `signal` itself makes enumerations of its numbers

STARTED_AFTER_MS = 5  # a task that ends sooner is reported by its end alone
FLUSH_EVERY_S = 0.02
LOOK_AROUND_S = 1.0  # the longest sleep beside a running task
HOME_CHECK_S = 5.0
IDLE_WITHOUT_WORKER_MAX_S = 600.0
KILL_EVERY_MS = 10
PIPE_BYTES = 65536  # what a pipe holds: one read empties it
LISTENER_FD = 3  # the worker hands over a socket that listens already, so that it need not wait to connect
INHERITED = (b"PATH", b"HOME", b"LANG")
DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT)


def main(options: str) -> None:
    """OPTIONS: home, number, node, cores, and groups (controller -> parent folder)."""
    given = decode(options.encode())
    log = os.fdopen(os.dup(2), "w", buffering=1)
    sys.stdout = sys.stderr = log
    for number in DEAF_TO:
        # A handler that does nothing, because a task would inherit an ignored signal as ignored.
        signal.signal(number, lambda *_: None)
    adopt_orphans()
    lane = Lane(given)
    try:
        lane.run()
    finally:
        lane.close()


class Lane:
    """Everything that a keeper has."""

    def __init__(self, options: dict[str, Any]) -> None:
        home, number = options["home"], options["number"]
        self._home: str = home
        self._number: int = number
        self._limits = Limits(options["groups"], f"lane-{number}", options["cores"])
        self._limits.enter()
        self._tree = Tree(self._limits)
        self._scratch = Scratch(f"{home}/work/{number}")
        self._starter = Starter(options["node"], self._limits, self._scratch)
        self._segments = Segments(f"{home}/logs")
        self._poll = select.poll()
        self._pipes = _capture_output(self._poll)
        self._link = Link(LISTENER_FD, self._poll)
        self._inherited = {key: os.environb[key] for key in INHERITED if key in os.environb}
        self._specs: dict[int, Spec] = {}
        self._queue = Queue()
        self._results = Results()
        self._task: Task | None = None
        self._flushed_at = 0.0
        self._home_seen_at = self._busy_at = time()
        self._over = False

    def run(self) -> None:
        """Tasks one after another, until told to end or left alone."""
        while not self._over:
            task = self._queue.next()
            if task is None:
                self._rest()
            else:
                self._run_task(*task)

    def close(self) -> None:
        """Leave no process and no folder behind."""
        for _ in range(200):
            if self._reap(None):
                break
            self._tree.kill_round()
            self._poll.poll(KILL_EVERY_MS)
        for suffix in ("sock", "json"):
            try:
                os.unlink(f"{self._home}/keepers/{self._number}.{suffix}")
            except OSError:
                pass
        self._link.close()
        self._limits.leave()
        os.chdir("/")
        self._scratch.remove()

    # ---- one task ----

    def _run_task(self, work: Work, index: int) -> None:
        started = time()
        self._segments.begin(work.spec.log_max_bytes)
        try:
            pid = self._starter.start(work, index)
        except OSError as error:
            self._note_not_started(work, index, started, error)
            return
        pidfd = os.pidfd_open(pid)
        self._poll.register(pidfd, select.POLLIN)
        task = self._task = Task(work, index, pid, pidfd, started)
        wait_ms = STARTED_AFTER_MS
        while True:
            self._handle(self._poll.poll(wait_ms))
            if (task.exited or task.noted) and self._reap(task):
                break
            wait_ms = self._advance(task)
        self._end_task(task)

    def _handle(self, events: list[tuple[int, int]]) -> None:
        task = self._task
        if task is not None and any(fd == task.pidfd for fd, _ in events):
            self._note_exit(task)  # first: a stop in the same breath comes too late
        for fd, event in events:
            if fd in self._pipes:
                self._segments.write(self._pipes[fd], os.read(fd, PIPE_BYTES))
            else:
                for message in self._link.handle(fd, event):
                    self._obey(message)

    def _note_exit(self, task: Task) -> None:
        self._poll.unregister(task.pidfd)
        os.close(task.pidfd)
        task.pidfd = -1
        task.exited = True

    def _reap(self, task: Task | None) -> bool:
        """Collect ended children. True when none is left: neither the task nor anything that it started."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if task is not None and pid == task.pid:
                task.status = status

    def _advance(self, task: Task) -> int:
        """What time asks for; returns how many milliseconds to sleep at most."""
        now = time()
        if task.exited:  # but something that it started has not
            self._tree.kill_round()
            return KILL_EVERY_MS
        if not task.noted:
            if now - task.started < STARTED_AFTER_MS / 1000:
                return STARTED_AFTER_MS
            self._note_running(task)
        if self._home_is_gone(now):
            self._end(task, "stopped", 0.0)
            self._over = True
        spec = task.work.spec
        if not task.ending and spec.run_timeout_s and now - task.started >= spec.run_timeout_s:
            self._end(task, "timeout", spec.stop_grace_s)
        if task.ending and now >= task.kill_at:
            self._tree.kill_round()
            return KILL_EVERY_MS
        wait_s = LOOK_AROUND_S
        if task.ending:
            wait_s = min(wait_s, task.kill_at - now)
        elif spec.run_timeout_s:
            wait_s = min(wait_s, task.started + spec.run_timeout_s - now)
        return int(wait_s * 1000) + 1

    def _end(self, task: Task, why: str, grace_s: float) -> None:
        """Ask the task to end; after the grace it is killed. Asking again can only shorten the grace."""
        kill_at = time() + grace_s
        if task.ending:
            task.kill_at = min(task.kill_at, kill_at)
            return
        task.ending, task.kill_at = why, kill_at
        if grace_s > 0:
            self._tree.signal(signal.SIGTERM)

    def _end_task(self, task: Task) -> None:
        if task.pidfd >= 0:
            self._note_exit(task)
        self._task = None
        self._handle(self._poll.poll(0))  # the rest of its output
        self._tree.settled()
        work, index = task.work, task.index
        segments = self._segments
        record = segments.end(work.job, work.group, index, work.attempt)
        now = time()
        times_ms = (int(task.started * 1000), int(now * 1000))
        how, detail = self._how(task) if task.status or task.ending else ("", "")
        if how or segments.trouble:
            run = EndedRun(work, index, segments.number, record, how, detail or segments.trouble)
            segments.trouble = ""
            self._results.add_odd(run, task.exit_code(), times_ms)
        else:
            code = task.exit_code() if task.status else 0
            self._results.add_ended(work, index, code, times_ms, (segments.number, record))
        segments.rotate_if_large()
        if now - self._flushed_at > FLUSH_EVERY_S or now < self._flushed_at:
            self._flush(now)

    def _how(self, task: Task) -> tuple[str, str]:
        spec = task.work.spec
        if task.ending == "timeout":
            return "timeout", f"ran longer than {spec.run_timeout_s:g} s"
        if task.ending:
            return task.ending, ""
        if spec.memory_bytes and self._limits.passed_memory():
            return "memory", f"memory limit of {_size(spec.memory_bytes)}"
        if spec.disk_bytes and task.exit_code() == 128 + signal.SIGXFSZ:
            return "disk", f"disk limit of {_size(spec.disk_bytes)}"
        return "", ""

    def _note_running(self, task: Task) -> None:
        work, segments = task.work, self._segments
        segments.note_running(work.job, work.group, task.index, work.attempt)
        task.noted = True
        started_ms = int(task.started * 1000)
        place = [segments.number, segments.records]
        self._results.add_started([work.job, work.group, work.attempt, task.index, started_ms, *place, task.pid])
        self._flush(time())

    def _note_not_started(self, work: Work, index: int, started: float, error: OSError) -> None:
        code, detail = why_not_started(work, error)
        record = self._segments.end(work.job, work.group, index, work.attempt)
        run = EndedRun(work, index, self._segments.number, record, "error", detail)
        self._results.add_odd(run, code, (int(started * 1000), int(time() * 1000)))

    # ---- between tasks ----

    def _rest(self) -> None:
        """Nothing to run: say what is to be said, tidy up, and wait for the worker."""
        now = time()
        if self._results:
            self._busy_at = now
            self._flush(now)
        self._starter.clean()
        self._handle(self._poll.poll(int(HOME_CHECK_S * 1000)))
        now = time()
        if self._link.connected or self._queue:
            self._busy_at = now
        if self._home_is_gone(now) or now - self._busy_at > IDLE_WITHOUT_WORKER_MAX_S:
            self._over = True

    def _flush(self, now: float) -> None:
        self._flushed_at = now
        self._segments.flush()
        self._link.send(self._results.close_report(self._segments.number))

    def _home_is_gone(self, now: float) -> bool:
        if abs(now - self._home_seen_at) < HOME_CHECK_S:
            return False
        self._home_seen_at = now
        return not os.path.isdir(f"{self._home}/keepers")

    # ---- what the worker says ----

    def _obey(self, message: list[Any]) -> None:
        verb = message[0]
        if verb == "run":
            for order in message[1]:
                self._queue.add(Work(order, self._specs[order[5]]))
        elif verb == "ack":
            self._results.acknowledge(message[1])
        elif verb == "spec":
            self._specs[message[1]] = Spec(message[2], self._inherited)
        elif verb == "forget":
            self._specs.pop(message[1], None)
        elif verb == "take":
            self._link.send(f'["taken",{message[1]},{self._take(message[2], message[3])}]\n'.encode())
        elif verb == "stop":
            self._stop(*message[1:])
        elif verb == "attach":
            self._specs.clear()
            self._send_state()
        elif verb == "end":
            self._over = True
            self._queue = Queue()
            if self._task is not None:
                self._end(self._task, "stopped", 0.0)

    def _take(self, kind: str, what: Any) -> list[Range]:
        if kind == "tail":
            return self._queue.take_tail(what)
        if kind == "reservations":
            return self._queue.take_reservations(what)
        return self._queue.take_range(*what)

    def _stop(self, job: int, group: int, first: int, last: int, grace_s: float) -> None:
        task = self._task
        if task is None or task.exited or (task.work.job, task.work.group) != (job, group):
            return
        if first <= task.index <= last:
            self._end(task, "stopped", grace_s)

    def _send_state(self) -> None:
        """Every report that is not acknowledged; then who this keeper is and what it has."""
        if self._results:
            self._segments.flush()
            self._results.close_report(self._segments.number)
        task = self._task
        running = None
        if task is not None:
            if not task.noted:
                self._segments.note_running(task.work.job, task.work.group, task.index, task.work.attempt)
                task.noted = True
            order = task.work.order.copy()
            order[FIRST] = order[LAST] = task.index
            started_ms = int(task.started * 1000)
            running = [order, task.index, started_ms, self._segments.number, self._segments.records, task.pid]
        state = ["state", VERSION, self._number, os.getpid(), self._segments.number, running, self._queue.orders()]
        self._link.send(self._results.unacknowledged() + encode(state).encode() + b"\n")


def _capture_output(poll: select.poll) -> dict[int, int]:
    """Make our own standard input, output and error what every task inherits: nothing, and two pipes that we read."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    pipes = {}
    for stream, fd in ((OUT, 1), (ERR, 2)):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.dup2(writing, fd)
        os.close(writing)
        poll.register(reading, select.POLLIN)
        pipes[reading] = stream
    return pipes


def _size(amount: int) -> str:
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount >= unit and amount % unit == 0:
            return f"{amount // unit}{suffix}"
    return str(amount)
