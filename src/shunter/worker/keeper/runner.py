"""Runs one task from its start until its last process has ended. Used by `keeper.lane`.

A short task costs one spawn, two polls and two waits. Rarer cases (output, a message, a long task, limits) leave that
path."""

from __future__ import annotations

import os
import select
from time import monotonic, time

from .children import Children
from .contact import Contact, describe
from .output import Output
from .process_tree import ProcessTree
from .results import EndedRange, Results
from .segments import Segments
from .task import Starter, Task, describe_failure, describe_start_error
from .usage import used_by_both
from .work_queue import TaskRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Protocol
else:
    import _signal as signal

    Protocol = object

REPORT_START_AFTER_MS = 5  # a task that ends sooner is reported by its end alone
POLL_MAX_S = 1.0  # the longest sleep while a task runs
DISK_CHECK_S = 1.0
DISK_CHECK_SHARE = 0.05  # of the time may go into adding up the scratch folder
KILL_EVERY_MS = 10  # at first; processes that cannot be killed are tried ever less often
KILL_EVERY_MAX_MS = 1000
CLOSE_ROUNDS_MAX = 300


class LaneContext(Protocol):
    """What the runner needs of its lane."""

    @property
    def results(self) -> Results: ...

    def handle(self, fd: int, event: int) -> None: ...

    def flush(self) -> None: ...

    def is_home_gone(self, now: float) -> bool: ...


class Runner:
    """`task` is the one that runs now."""

    def __init__(
        self,
        poll: select.poll,
        starter: Starter,
        tree: ProcessTree,
        segments: Segments,
        lane_context: LaneContext,
        contact: Contact,
    ) -> None:
        self.task: Task | None = None
        self._poll = poll
        self._starter = starter
        self._tree = tree
        self._segments = segments
        self._lane_context = lane_context
        self._contact = contact
        self._output = Output(poll, segments)
        self._children = Children()
        self._exit_poll = select.poll()  # processes left after a task has exited
        for fd in self._output.fds:
            self._exit_poll.register(fd, select.POLLIN)
        if starter.scratch.watch_fd >= 0:
            self._exit_poll.register(starter.scratch.watch_fd, select.POLLIN)

    def run(self, task_range: TaskRange, index: int) -> float:
        """Run one task to its end and add its result; returns the time."""
        started_ms, started_at = int(time() * 1000), monotonic()
        self._segments.begin(task_range.spec.log_max_bytes)
        stop_after_s = task_range.spec.stop_after_s
        if stop_after_s and not self._contact.may_start(stop_after_s):
            return self._record_not_started(task_range, index, started_ms, 0, ("stopped", describe(stop_after_s)))
        try:
            pid = self._starter.start(task_range, index)
        except (OSError, ValueError) as error:
            code, detail = describe_start_error(task_range, error)
            return self._record_not_started(task_range, index, started_ms, code, ("error", detail))
        pidfd = os.pidfd_open(pid)
        self._poll.register(pidfd, select.POLLIN)
        task = self.task = Task(task_range, index, pid, pidfd, started_ms, started_at)
        if task_range.spec.is_watched:
            task.ports = self._starter.setup.ports.pop(
                (task_range.job, task_range.group, index, task_range.attempt), task.ports
            )
            self.record_running(task)
        self._wait_for_end(task)
        self.task = None
        self._collect_leftovers()
        if not task_range.spec.is_plain:
            self._starter.clean_setup()
        return self._record_end(task)

    def _wait_for_end(self, task: Task) -> None:
        """Return when neither the task nor anything that it started is left."""
        pidfd, wait_ms = task.pidfd, REPORT_START_AFTER_MS
        while True:
            events = self._poll.poll(wait_ms)
            for fd, _ in events:
                if fd == pidfd:  # first: a stop that arrives at the same time comes too late
                    self._mark_exited(task)
                    break
            for fd, event in events:
                if fd != pidfd:
                    self.handle(fd, event)
            if (task.exited or task.is_reported) and self._reap(task):
                return
            wait_ms = self._advance(task, bool(events))

    def _collect_leftovers(self) -> None:
        """Read the rest of the output, and note whether the task wrote to the scratch folder."""
        scratch = self._starter.scratch
        scratch.is_fresh = scratch.is_fresh and scratch.watch_fd >= 0
        for fd, _ in self._exit_poll.poll(0):
            if fd in self._output.fds:
                self._output.drain(fd)
            else:
                scratch.is_fresh = False

    def handle(self, fd: int, event: int) -> None:
        if fd in self._output.fds:
            self._output.drain(fd)
        else:
            self._lane_context.handle(fd, event)

    def end(self, how: str, grace_s: float, first_signal: int = signal.SIGTERM, detail: str = "") -> None:
        """Ask the task to end; after the grace it is killed. Asking again can only shorten the grace."""
        task = self.task
        if task is None or task.exited:
            return
        kill_at = monotonic() + grace_s
        if task.ending:
            task.kill_at = min(task.kill_at, kill_at)
            return
        task.ending, task.kill_at, task.detail = how, kill_at, detail
        if grace_s > 0:
            self._tree.signal(first_signal)

    def record_running(self, task: Task) -> None:
        """The task is still running: write its record, so that its output can be followed, and report it."""
        task_range, segments = task.task_range, self._segments
        segments.record_running(task_range.job, task_range.group, task.index, task_range.attempt)
        task.is_reported = True
        task.reported_at = monotonic()
        place = [segments.number, segments.records]
        name = [task_range.job, task_range.group, task_range.attempt, task.index]
        self._lane_context.results.add_started([*name, task.started_ms, *place, task.pid, task.ports])
        self._lane_context.flush()

    def clean(self) -> None:
        """Between tasks: remove everything from the scratch folder."""
        self._starter.clean()

    def close(self) -> None:
        for _ in range(CLOSE_ROUNDS_MAX):
            if self._reap(None):
                break
            self._tree.kill_round()
            self._poll.poll(KILL_EVERY_MS)
        self._starter.close()

    def _mark_exited(self, task: Task) -> None:
        self._poll.unregister(task.pidfd)
        os.close(task.pidfd)
        task.exited = True

    def _reap(self, task: Task | None) -> bool:
        """Collect ended children. True when none is left: neither the task nor anything that it started."""
        children = self._children
        while (pid := children.collect()) > 0:
            if task is not None:
                task.used = used_by_both(task.used, children.used) if task.used else children.used
                if pid == task.pid:
                    task.status = children.status
        if pid == 0:
            return False
        if task is not None and not task.exited:
            self._mark_exited(task)
        return True

    def _advance(self, task: Task, woken: bool) -> int:
        """Handle timeouts; returns how many milliseconds to sleep at most."""
        if task.exited:  # but something that it started has not
            return self._kill()
        now = monotonic()
        if not task.is_reported:
            if woken and not task.ending:  # by output or a message: was it within the first few milliseconds?
                task.woken_at = task.woken_at or now
                if now - task.woken_at < REPORT_START_AFTER_MS / 1000:
                    return REPORT_START_AFTER_MS
            self.record_running(task)
        if self._lane_context.is_home_gone(now):
            self.end("stopped", 0.0)
        spec = task.task_range.spec
        if spec.stop_after_s and self._contact.left_s(spec.stop_after_s) <= 0:  # it may shorten the grace of a stop
            self.end("stopped", spec.stop_grace_s, detail=describe(spec.stop_after_s))
        if not task.ending:
            self._check_limits(task, now)
        if task.ending and now >= task.kill_at:
            return self._kill()
        return self._sleep_ms(task, now)

    def _kill(self) -> int:
        self._tree.kill_round()
        return min(KILL_EVERY_MS * self._tree.kill_rounds, KILL_EVERY_MAX_MS)

    def _check_limits(self, task: Task, now: float) -> None:
        spec = task.task_range.spec
        if spec.run_timeout_s and now >= task.reported_at + spec.run_timeout_s:
            self.end("timeout", spec.stop_grace_s)
        elif spec.disk_bytes and spec.dir is None and now >= task.disk_check_at:
            exceeded = self._starter.scratch_bytes(spec) > spec.disk_bytes
            took_s = monotonic() - now
            task.disk_check_at = now + max(DISK_CHECK_S, took_s / DISK_CHECK_SHARE)
            if exceeded:
                self.end("disk", 0.0)

    def _sleep_ms(self, task: Task, now: float) -> int:
        spec = task.task_range.spec
        wait_s = POLL_MAX_S
        if task.ending:
            wait_s = min(wait_s, task.kill_at - now)
        elif spec.run_timeout_s:
            wait_s = min(wait_s, task.reported_at + spec.run_timeout_s - now)
        if spec.stop_after_s and not task.ending:
            wait_s = min(wait_s, self._contact.left_s(spec.stop_after_s))
        return max(0, int(wait_s * 1000)) + 1

    def _record_end(self, task: Task) -> float:
        self._tree.kill_rounds = 0
        task_range, segments = task.task_range, self._segments
        is_explained = bool(task.status) and not task.ending and task_range.spec.explains_failure
        explanation = describe_failure(task.exit_code(), segments) if is_explained else ""
        record = segments.end(task_range.job, task_range.group, task.index, task_range.attempt)
        ended_ms = int(time() * 1000)
        times_ms = (task.start_by_date(ended_ms, monotonic()), ended_ms)
        process_limit = self._starter.describe_process_limit(task)
        how, detail = self._starter.classify_exit(task) if task.status or task.ending else ("", "")
        detail = detail or explanation or process_limit or segments.write_error
        results = self._lane_context.results
        if how or detail:
            run = EndedRange(task_range, task.index, segments.number, record, how, detail)
            segments.write_error = ""
            results.add_abnormal(run, task.exit_code(), times_ms, task.used)
        else:
            code = task.exit_code() if task.status else 0
            results.add_ended(task_range, task.index, code, times_ms, (segments.number, record), task.used)
        if segments.is_large:
            segments.rotate()
        return monotonic()

    def _record_not_started(
        self, task_range: TaskRange, index: int, started_ms: int, code: int, outcome: tuple[str, str]
    ) -> float:
        """`outcome`: how it ended, and why."""
        self._starter.setup.ports.pop((task_range.job, task_range.group, index, task_range.attempt), None)
        if not task_range.spec.is_plain:
            self._starter.clean_setup()
        record = self._segments.end(task_range.job, task_range.group, index, task_range.attempt)
        run = EndedRange(task_range, index, self._segments.number, record, *outcome)
        self._lane_context.results.add_abnormal(run, code, (started_ms, int(time() * 1000)))
        return monotonic()
