"""Starts one task and holds what is known about it while it runs. Used by `keeper.lane`."""

from __future__ import annotations

import errno
import os

from .limits import Limits
from .scratch import Scratch, tree_bytes
from .segments import ERR, OUT, Segments
from .task_setup import TaskSetup
from .task_user import Identity, StartError
from .usage import Used
from .work_queue import Environment, NotOnPath, Spec, TaskRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OOM_SCORE_RAISED_BY = 500
OOM_SCORE_MAX = 1000
EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_SIGNAL = 127, 126, 128
EXIT_FILE_TOO_LARGE = EXIT_SIGNAL + 25  # SIGXFSZ
LINES_EXPLAINED = 3  # of each stream
LINE_EXPLAINED_MAX = 200  # characters
DATE_CHANGE_MIN_MS = 1000  # a smaller difference between the date and the time that has passed is ignored


class Task:
    """The attempt that the lane runs now."""

    __slots__ = (
        "detail",
        "disk_check_at",
        "ending",
        "exited",
        "index",
        "is_reported",
        "kill_at",
        "pid",
        "pidfd",
        "ports",
        "reported_at",
        "started_at",
        "started_ms",
        "status",
        "task_range",
        "used",
        "woken_at",
    )  # fmt: skip

    def __init__(
        self, task_range: TaskRange, index: int, pid: int, pidfd: int, started_ms: int, started_at: float
    ) -> None:
        self.task_range = task_range
        self.index = index
        self.pid = pid
        self.pidfd = pidfd  # closed once it has exited
        self.started_ms = started_ms  # by the date of the machine, which may be changed at any time
        self.started_at = started_at
        self.ports: dict[str, int] = {}
        self.is_reported = False  # reported as started, with a record of its own
        self.reported_at = 0.0
        self.woken_at = 0.0  # when it first wrote something, or a message came
        self.exited = False
        self.status = 0
        self.ending = ""  # why we end it: stopped, timeout, disk or unhealthy
        self.detail = ""  # the worker's message about it
        self.kill_at = 0.0  # when the grace is over; meaningful while ending
        self.disk_check_at = 0.0
        self.used: Used | None = None  # by its processes that have ended

    def start_by_date(self, now_ms: int, now: float) -> int:
        """When it started, by the present date: after a change of the date, counted back from now."""
        passed_ms = int((now - self.started_at) * 1000)
        is_same_date = abs(now_ms - self.started_ms - passed_ms) < DATE_CHANGE_MIN_MS
        return self.started_ms if is_same_date else now_ms - passed_ms

    def exit_code(self) -> int:
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else EXIT_SIGNAL - code


class Starter:
    """Starts tasks in the right folder, with the right variables and under the right limits."""

    def __init__(
        self, node: str, mark: str, limits: Limits, scratch: Scratch, setup: TaskSetup, task_user: Identity | None
    ) -> None:
        self._task_user = task_user
        self._node = os.fsencode(node)
        self._mark = os.fsencode(mark)
        self._limits = limits
        self.scratch = scratch
        self.setup = setup
        self.devices: Environment = {}  # variables that name the lane's devices
        self._prepared: TaskRange | None = None
        self._path = b""
        self._oom_fd = os.open("/proc/self/oom_score_adj", os.O_RDWR)
        score = int(os.read(self._oom_fd, 8))
        self._oom_default = b"%d" % score
        self._oom_raised = b"%d" % min(OOM_SCORE_MAX, score + OOM_SCORE_RAISED_BY)

    def start(self, task_range: TaskRange, index: int) -> int:
        """Start the task; returns its process id. Raises OSError where it cannot be started."""
        spec = task_range.spec
        if spec.dir is not None:
            self.scratch.is_fresh = False
            if self._task_user is None:
                os.chdir(spec.dir)
            else:
                self._task_user.enter(spec.dir)
        elif not self.scratch.is_fresh:
            self.scratch.reset()
        if task_range is not self._prepared:
            self._prepared = None
            self._limits.apply(spec.cpu_milli, spec.memory_bytes)
            self._path = spec.path()
            self._prepared = task_range
        environment = task_range.environment(index, self._node, self._mark, self.devices)
        if spec.is_plain:
            if spec.memory_bytes or spec.disk_bytes:
                return self._spawn_limited(spec, lambda: self._spawn(spec, environment))
            return self._spawn(spec, environment)
        spawn = self.setup.prepare(task_range, index, self._path, environment)
        return self._spawn_limited(spec, spawn) if spec.memory_bytes or spec.disk_bytes else spawn()

    def clean_setup(self) -> None:
        """After a task that was started specially; the lane's own folder must be entered again."""
        self.setup.clean()
        self.scratch.is_fresh = False

    def scratch_bytes(self, spec: Spec) -> int:
        """Size on disk of the task's own folder; files that vanish meanwhile count nothing."""
        return tree_bytes(self.setup.folder_of(spec.user) or self.scratch.path)

    def clean(self) -> None:
        """Between tasks: remove everything from the scratch folder."""
        if self._prepared is not None and self._prepared.spec.dir is None and not self.scratch.is_fresh:
            try:
                self.scratch.reset()
            except OSError:
                pass  # the next task that needs it has the same problem, and reports it

    def classify_exit(self, task: Task) -> tuple[str, str]:
        """How a task ended that did not simply exit with 0: just its exit code, or a limit."""
        spec = task.task_range.spec
        if task.ending == "timeout":
            return "timeout", f"exceeded its timeout of {spec.run_timeout_s:g}s"
        if task.ending == "disk" or (spec.disk_bytes and task.exit_code() == EXIT_FILE_TOO_LARGE):
            return "disk", f"disk limit of {_format_size(spec.disk_bytes)}"
        if task.ending:
            return task.ending, task.detail
        if spec.memory_bytes and self._limits.was_oom_killed():
            return "memory", f"memory limit of {_format_size(spec.memory_bytes)}"
        return "", ""

    def describe_process_limit(self, task: Task) -> str:
        """What a long task that failed says if it could not start more processes. A task of a few milliseconds cannot
        have reached the limit, so it is not asked for."""
        if not task.is_reported or not self._limits.was_refused_processes() or task.ending or not task.status:
            return ""
        limit = f"the limit of {self._limits.pids_max} processes and threads"
        return f"exit code {task.exit_code()}; it reached {limit} (worker.task_pids_max)"

    def close(self) -> None:
        self.setup.clean()
        try:
            self.scratch.remove()
        except OSError:
            pass  # the worker cleans up the rest

    def _spawn(self, spec: Spec, environment: Environment) -> int:
        if self._task_user is not None:
            return self._task_user.spawn(self._path, spec.argv, environment)
        return os.posix_spawn(self._path, spec.argv, environment, setsid=True)

    def _spawn_limited(self, spec: Spec, spawn: Callable[[], int]) -> int:
        # When memory is short, the kernel must kill the task, not the keeper: the task inherits a raised score.
        os.pwrite(self._oom_fd, self._oom_raised, 0)
        previous = _limit_file_size(spec.disk_bytes) if spec.disk_bytes else None
        try:
            pid = spawn()
        finally:
            if previous is not None:
                _limit_file_size(previous)
            os.pwrite(self._oom_fd, self._oom_default, 0)
        if spec.disk_bytes or not self._limits.limits_memory:
            self._set_rlimits(pid, spec)
        return pid

    def _set_rlimits(self, pid: int, spec: Spec) -> None:
        import resource  # only where a limit asks for it

        try:
            if spec.disk_bytes:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (spec.disk_bytes, spec.disk_bytes))
            if spec.memory_bytes and not self._limits.limits_memory:
                resource.prlimit(pid, resource.RLIMIT_AS, (spec.memory_bytes, spec.memory_bytes))
        except OSError:
            pass  # it has ended already, or runs as another user


def _limit_file_size(size_bytes: int) -> int:
    """Set this process's own file size limit, because the task could write before its limit is set; returns the old
    limit. Only the soft limit changes, so that it can be restored."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft_limit = size_bytes if hard == resource.RLIM_INFINITY else min(size_bytes, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft_limit, hard))
    return soft


def describe_start_error(task_range: TaskRange, error: Exception) -> tuple[int, str]:
    """The exit code and the words for a task that could not be started."""
    if isinstance(error, StartError):
        return EXIT_NOT_STARTED, str(error)
    if not isinstance(error, OSError):
        return EXIT_NOT_STARTED, f"the command or a variable cannot be passed to the process: {error}"
    spec = task_range.spec
    reason = os.strerror(error.errno) if error.errno else str(error)
    name = os.fsdecode(spec.argv[0])
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    if spec.dir is not None and error.filename == spec.dir:
        detail = f"working directory {spec.dir}: {reason}"
    elif isinstance(error, NotOnPath):
        detail = f"{name}: {error.strerror}"
    elif missing and os.path.exists(name):
        detail = f"{name}: its interpreter was not found"
    elif error.errno == errno.ENOEXEC:
        detail = f"{name}: not a program (a script needs a #! line)"
    else:
        where = error.filename if isinstance(error.filename, str) else name
        detail = f"{where}: {reason}"
    return (EXIT_NOT_FOUND if missing else EXIT_NOT_STARTED), detail


def _format_size(amount_bytes: int) -> str:
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount_bytes >= unit and amount_bytes % unit == 0:
            return f"{amount_bytes // unit}{suffix}"
    return str(amount_bytes)


def describe_failure(exit_code: int, segments: Segments) -> str:
    """The exit code and the last lines of both streams, without the frames of Java's stack traces."""
    lines = [*segments.last_lines(OUT, LINES_EXPLAINED), *segments.last_lines(ERR, LINES_EXPLAINED)]
    shown = [line.strip()[:LINE_EXPLAINED_MAX] for line in lines if not line.startswith("\tat ")]
    return f"exit code {exit_code}" + (f"; last output: {' | '.join(shown)}" if shown else "")
