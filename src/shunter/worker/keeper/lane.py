"""The keeper's loop: one lane, one task at a time. Read `Lane.run` first; `worker.process.protocol` describes the
messages."""

from __future__ import annotations

import os
import select
import sys
from time import monotonic, time

from .contact import Contact
from .json_lines import VERSION, decode, encode
from .limits import Limits
from .link import Link
from .masks import hide_secrets
from .process_tree import ProcessTree
from .results import Results
from .runner import Runner
from .scratch import Scratch
from .segments import Segments
from .syscalls import adopt_orphans
from .task import Starter
from .task_setup import TaskSetup, variable_name
from .task_user import become_parent_of
from .work_queue import SPEC, Environment, Queue, RangeRow, Spec, TaskRange

TYPE_CHECKING = False  # the real one, in `typing`, would cost every keeper a megabyte
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    import _signal as signal  # `signal` itself makes enumerations of its numbers

FLUSH_EVERY_S = 0.02
HOME_CHECK_S = 2.0
LISTENER_FD = 3  # the worker hands over a socket that listens already, so that it need not wait to connect
FD_MAX = 2**20
INHERITED_ENV = (b"PATH", b"HOME", b"LANG")
IGNORED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT)


def main() -> None:
    """Standard input has the options as JSON, because everybody can read command lines: home, number, node, cores,
    groups (controller -> parent folder), alone_max_s: how long it stays with nothing to run and no worker, and
    results_max_s: the same while it has results that are not acknowledged. Of its tasks: mark, masks (what is hidden
    from them, or null), user (empty: the keeper's own), umask and pids_max."""
    decoded = decode(_read_options())
    os.closerange(LISTENER_FD + 1, FD_MAX)  # files that the worker's parent left open
    sys.stdout = sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)  # 1 and 2 become the streams that tasks inherit
    for number in IGNORED_SIGNALS:
        # A handler that does nothing, because a task would inherit an ignored signal as ignored.
        signal.signal(number, lambda *_: None)
    early_terms: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: early_terms.append(number))
    adopt_orphans()
    if decoded["masks"] is not None:
        hide_secrets(decoded["masks"])
    os.umask(decoded["umask"])  # tasks inherit it; all that the keeper makes has explicit modes
    lane = Lane(decoded)
    signal.signal(signal.SIGTERM, lambda *_: lane.end_when_idle())
    if early_terms:
        lane.end_when_idle()
    try:
        lane.run()
    finally:
        lane.close()


def _read_options() -> bytes:
    """Reads all of standard input, which is /dev/null from then on."""
    parts = []
    while part := os.read(0, 65_536):
        parts.append(part)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if null != 0:
        os.close(null)
    return b"".join(parts)


class _Idle(Exception):
    """Ends the wait of a keeper that has nothing to do and was told to end."""


class Lane:
    """The queue of the lane, its results, and its worker connection."""

    def __init__(self, options: dict[str, Any]) -> None:
        home, number = options["home"], options["number"]
        self._home: str = home
        self._number: int = number
        self._alone_max_s: float = options["alone_max_s"]
        self._results_max_s: float = options["results_max_s"]
        self._limits = Limits(options["groups"], f"lane-{number}", options["cores"], options["pids_max"])
        self._limits.enter()
        task_user = become_parent_of(options["user"])
        self._segments = Segments(f"{home}/logs")
        self._results = Results()
        self._poll = select.poll()
        users_folder: str = options["users_folder"]
        lane_folder = f"{home}/work/{number}" if task_user is None else users_folder
        scratch = Scratch(lane_folder, task_user)
        self._setup = TaskSetup(lane_folder, users_folder, task_user)
        self._starter = Starter(options["node"], options["mark"], self._limits, scratch, self._setup, task_user)
        self._devices: dict[str, list[str]] = {}
        self._contact = Contact()
        self._runner = Runner(self._poll, self._starter, ProcessTree(self._limits), self._segments, self, self._contact)
        self._link = Link(LISTENER_FD, self._poll)
        self._inherited = {key: os.environb[key] for key in INHERITED_ENV if key in os.environb}
        if task_user is not None:
            self._inherited.update(task_user.variables())
        self._specs: dict[int, Spec] = {}
        self._queue = Queue()
        self._flushed_at = self._home_checked_at = self._busy_at = monotonic()
        self._is_ending = False
        self._end_requested = False  # to end, by a worker that goes on
        self._ends_when_idle = False
        self._is_waiting = False

    def run(self) -> None:
        """Run tasks one after another, until told to end or left alone."""
        while not self._is_ending:
            task = self._queue.next()
            if task is None:
                self._idle()
            else:
                now = self._runner.run(*task)
                if now - self._flushed_at > FLUSH_EVERY_S:
                    self._flush(now)

    def end_when_idle(self) -> None:
        """On a TERM signal: end at once, or when the task is done and its result acknowledged."""
        self._ends_when_idle = True
        if self._is_waiting and not self._results.is_awaiting_ack:
            raise _Idle

    def close(self) -> None:
        """Leave no process and no folder behind."""
        self._runner.close()
        for suffix in ("sock", "json"):
            try:
                os.unlink(f"{self._home}/keepers/{self._number}.{suffix}")
            except OSError:
                pass
        self._limits.leave(is_final=not self._end_requested)
        # The connection closes with the process: a worker that sees it closed may take the keeper for dead.

    # ---- runner.Surroundings ----

    @property
    def results(self) -> Results:
        return self._results

    def handle(self, fd: int, event: int) -> None:
        for message in self._link.handle(fd, event):
            self._handle_message(message)

    def flush(self) -> None:
        self._flush(monotonic())

    def is_home_gone(self, now: float) -> bool:
        """Whether the home was deleted: then nothing here is needed any more."""
        if now - self._home_checked_at >= HOME_CHECK_S:
            self._home_checked_at = now
            self._is_ending = self._is_ending or _is_deleted(f"{self._home}/logs")
        return self._is_ending

    # ---- between tasks ----

    def _idle(self) -> None:
        """Nothing to run: send reports, clean up, and wait for the worker."""
        if self._results:
            self._busy_at = monotonic()
            self._flush(self._busy_at)
        self._runner.clean()
        was_connected = self._link.connected
        alone_s = 0.0 if was_connected else monotonic() - self._busy_at
        for fd, event in self._wait(idle_wait_s(alone_s, self._alone_max_s)):
            self._runner.handle(fd, event)
        now = monotonic()
        if self._queue:
            self._busy_at = now
            return
        if was_connected or self._link.connected:  # alone counts from the end of the connection
            self._busy_at = now
        has_results = self._results.is_awaiting_ack
        alone_max_s = self._results_max_s if has_results else self._alone_max_s
        if self._ends_when_idle and not has_results:
            self._is_ending = True
        if self.is_home_gone(now) or now - self._busy_at > alone_max_s:
            self._is_ending = True

    def _wait(self, seconds: float) -> list[tuple[int, int]]:
        """Wait for a message of the worker or a TERM signal; Python alone would continue to wait after a signal."""
        self._is_waiting = True
        try:
            if self._ends_when_idle and not self._results.is_awaiting_ack:
                return []
            return self._poll.poll(int(seconds * 1000) + 1)
        except _Idle:
            return []
        finally:
            self._is_waiting = False

    def _flush(self, now: float) -> None:
        self._flushed_at = now
        self._segments.flush()
        self._link.send(self._results.close_report(self._segments.number))

    # ---- what the worker says ----

    def _handle_message(self, message: list[Any]) -> None:
        verb = message[0]
        if verb == "run":
            for order in message[1]:
                self._queue.add(TaskRange(order, self._specs[order[SPEC]]))
        elif verb == "ack":
            self._results.acknowledge(message[1])
        elif verb == "spec":
            self._specs[message[1]] = Spec(message[2], self._inherited)
        elif verb == "forget":
            self._specs.pop(message[1], None)
        elif verb == "take":
            self._link.send(f'["taken",{message[1]},{self._reclaim(message[2], message[3])}]\n'.encode())
        elif verb == "stop":
            self._stop(*message[1:])
        elif verb == "contact":
            self._contact.note(message[1])
        elif verb == "ports":
            self._setup.ports[tuple(message[1:5])] = message[5]
        elif verb == "devices":
            self._devices = message[1]
            self._starter.devices = device_variables(self._devices)
        elif verb == "attach":
            self._specs.clear()
            self._send_state()
        elif verb == "end":
            self._is_ending = self._end_requested = True
            self._queue = Queue()
            self._runner.end("stopped", 0.0)

    def _reclaim(self, kind: str, selector: Any) -> list[RangeRow]:
        if kind == "tail":
            reclaimed = self._queue.reclaim_tail(selector)
        elif kind == "reservations":
            reclaimed = self._queue.reclaim_reservations(selector)
        else:
            reclaimed = self._queue.reclaim_range(*selector)
        if self._setup.ports:
            for job, group, attempt, first, last in reclaimed:
                for index in range(first, last + 1):
                    self._setup.ports.pop((job, group, index, attempt), None)
        return reclaimed

    def _stop(self, place: list[int], attempt_max: int, grace_s: float, number: int, how: str, detail: str) -> None:
        task = self._runner.task
        job, group, first, last = place
        if (
            task is None
            or (task.task_range.job, task.task_range.group) != (job, group)
            or not first <= task.index <= last
        ):
            return
        if task.task_range.attempt <= attempt_max:
            self._runner.end(how, grace_s, number or signal.SIGTERM, detail)

    def _send_state(self) -> None:
        """Send every report that is not acknowledged, then this keeper's identity and queue."""
        task = self._runner.task
        running = None
        if task is not None:
            if not task.is_reported:
                self._runner.record_running(task)
            order = task.task_range.suborder(task.index, task.index)
            place = [self._segments.number, self._segments.records]
            started_ms = task.start_by_date(int(time() * 1000), monotonic())
            running = [order, task.index, started_ms, *place, task.pid, task.task_range.spec.fields, task.ports]
        elif self._results:
            self._segments.flush()
            self._results.close_report(self._segments.number)
        state = ["state", VERSION, self._number, os.getpid(), self._segments.number, running, self._queue.orders()]
        state += [self._devices, [[*name, ports] for name, ports in self._setup.ports.items()]]
        state.append(self._queue.contact_limits(None if task is None else task.task_range))
        self._link.send(self._results.unacknowledged() + encode(state).encode() + b"\n")


def idle_wait_s(alone_s: float, alone_max_s: float) -> float:
    """How long an idle keeper sleeps at most: until it has been alone for long enough, or must look after its home."""
    left_s = alone_max_s - alone_s
    return min(HOME_CHECK_S, left_s) if left_s > 0 else HOME_CHECK_S


def device_variables(devices: dict[str, list[str]]) -> Environment:
    """The variables that tell a task its devices."""
    found: Environment = {}
    for kind, ids in devices.items():
        joined = ",".join(ids).encode()
        found[variable_name(b"SHUNTER_DEVICES_", kind)] = joined
        if kind == "gpu":
            found[b"CUDA_VISIBLE_DEVICES"] = joined
    return found


def _is_deleted(folder: str) -> bool:
    """Whether a folder is deleted. One that is mounted here can still be reached by its path after it was deleted
    elsewhere."""
    try:
        return os.stat(folder).st_nlink == 0
    except OSError:
        return True
