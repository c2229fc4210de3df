"""Starting one task, and what is known of it while it runs. Used by `keeping.lane`."""

from __future__ import annotations

import errno
import os

from .limits import Limits
from .scratch import Scratch
from .work import Spec, Work

OOM_SCORE_RAISED_BY = 500
OOM_SCORE_MAX = 1000
EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_SIGNAL = 127, 126, 128


class Task:
    """The attempt that the lane runs now."""

    __slots__ = ("ending", "exited", "index", "kill_at", "noted", "pid", "pidfd", "started", "status", "work")

    def __init__(self, work: Work, index: int, pid: int, pidfd: int, started: float) -> None:
        self.work = work
        self.index = index
        self.pid = pid
        self.pidfd = pidfd  # -1 once the process has exited
        self.started = started
        self.noted = False  # reported as started, with a record of its own
        self.exited = False
        self.status = 0
        self.ending = ""  # why we end it: stopped, timeout or disk
        self.kill_at = 0.0  # when the grace is over; meaningful while ending

    def exit_code(self) -> int:
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else EXIT_SIGNAL - code


class Starter:
    """Starts tasks in the right folder, with the right variables and under the right limits."""

    def __init__(self, node: str, limits: Limits, scratch: Scratch) -> None:
        self._node = os.fsencode(node)
        self._limits = limits
        self._scratch = scratch
        self._in_scratch = False
        self._oom_fd = os.open("/proc/self/oom_score_adj", os.O_RDWR)
        score = int(os.read(self._oom_fd, 8))
        self._oom_usual = b"%d" % score
        self._oom_raised = b"%d" % min(OOM_SCORE_MAX, score + OOM_SCORE_RAISED_BY)

    def start(self, work: Work, index: int) -> int:
        """Start the task; returns its process id. Raises OSError where it cannot be started."""
        spec = work.spec
        if spec.dir is None:
            self._enter_scratch()
        else:
            self._in_scratch = False
            os.chdir(spec.dir)
        self._limits.apply(spec.cpu_milli, spec.memory_bytes)
        path = spec.path()
        # In want of memory the kernel shall end the task, not the keeper: the task inherits a raised score.
        os.pwrite(self._oom_fd, self._oom_raised, 0)
        try:
            pid = os.posix_spawn(path, spec.argv, work.environment(index, self._node), setsid=True)
        finally:
            os.pwrite(self._oom_fd, self._oom_usual, 0)
        if spec.disk_bytes or (spec.memory_bytes and not self._limits.limits_memory):
            self._set_rlimits(pid, spec)
        return pid

    def clean(self) -> None:
        """Between tasks: leave nothing of the last one in the scratch folder."""
        if self._in_scratch and not self._scratch.is_clean():
            self._scratch.renew()

    def _enter_scratch(self) -> None:
        if self._in_scratch:
            self.clean()
        else:
            self._scratch.enter()
            self._in_scratch = True

    def _set_rlimits(self, pid: int, spec: Spec) -> None:
        import resource  # only where a limit asks for it

        try:
            if spec.disk_bytes:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (spec.disk_bytes, spec.disk_bytes))
            if spec.memory_bytes and not self._limits.limits_memory:
                resource.prlimit(pid, resource.RLIMIT_AS, (spec.memory_bytes, spec.memory_bytes))
        except ProcessLookupError:
            pass  # it has ended already


def why_not_started(work: Work, error: OSError) -> tuple[int, str]:
    """The exit code and the words for a task that could not be started."""
    spec = work.spec
    reason = os.strerror(error.errno) if error.errno else str(error)
    name = os.fsdecode(spec.argv[0])
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    if spec.dir is not None and error.filename == spec.dir:
        detail = f"working directory {spec.dir}: {reason}"
    elif error.filename == spec.argv[0] and "PATH" in str(error.strerror):
        detail = f"{name}: {error.strerror}"
    elif missing and os.path.exists(name):
        detail = f"{name}: its interpreter was not found"
    elif error.errno == errno.ENOEXEC:
        detail = f"{name}: not a program (a script needs a #! line)"
    else:
        where = error.filename if isinstance(error.filename, str) else name
        detail = f"{where}: {reason}"
    return (EXIT_NOT_FOUND if missing else EXIT_NOT_STARTED), detail
