"""Sets up tasks that need more than a command in a folder: files for their streams, data to read, a payload,
another user, ports. Used by `keeper.task` for such tasks only.

The process of a task of another user drops its rights before it accesses any path of the user."""

from __future__ import annotations

import errno
import os

from .scratch import make_folders, make_own_folder, remove_tree
from .task_user import Identity, StartError, find_identity, fork_and_exec
from .work_queue import GROUP_NAME, JOB_NAME, Environment, TaskRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

USER_FOLDERS = "/tmp"


class TaskSetup:
    """`lane_folder` is the lane's own, for payloads; `user_folder` is where tasks of other users work, because they
    cannot reach into the home. If all tasks of the keeper run as `task_user`, both are the same, and the scratch folder
    in it is that user's already."""

    def __init__(self, lane_folder: str, user_folder: str, task_user: Identity | None = None) -> None:
        self._task_user = task_user
        self._lane_folder = lane_folder
        self._user_folder = user_folder
        self._to_remove: set[str] = set()  # paths to remove when the task has ended
        self.ports: dict[tuple[int, int, int, int], dict[str, int]] = {}  # of tasks that the lane has

    def prepare(self, task_range: TaskRange, index: int, path: bytes, environment: Environment) -> Callable[[], int]:
        """Prepare what the task needs; returns the call that starts it. Raises OSError or StartError."""
        spec = task_range.spec
        identity = self._identity_of(spec.user)
        folder = spec.dir
        if identity is not None and self._task_user is not None:
            folder = folder or f"{self._lane_folder}/scratch"
        elif identity is not None:
            folder = folder or self._make_user_folder(identity)
            if not spec.has_home:
                environment[b"HOME"] = os.fsencode(identity.home)
        if spec.payload is not None and not spec.payload_is_stdin:
            environment[b"SHUNTER_PAYLOAD"] = os.fsencode(self._write_payload(spec.payload, identity))
        if spec.secret_files:
            environment[b"SHUNTER_SECRETS"] = os.fsencode(self._write_secrets(spec.secret_files, identity))
        if spec.has_ports:
            self._add_ports(task_range, index, environment)
        names = (
            task_range.order[JOB_NAME],
            task_range.order[GROUP_NAME],
            task_range.visible_index(index),
            task_range.attempt,
        )
        paths = expand_path_pattern(spec.stdout, *names), expand_path_pattern(spec.stderr, *names)
        stdin = spec.payload if spec.payload_is_stdin else None
        if identity is None:
            return lambda: _spawn(path, task_range.spec.argv, environment, paths, stdin)
        assert folder is not None
        start = ExecRequest(path, task_range.spec.argv, environment, paths, folder, stdin)
        return lambda: _fork(identity, start)

    def _add_ports(self, task_range: TaskRange, index: int, environment: Environment) -> None:
        ports = self.ports.get((task_range.job, task_range.group, index, task_range.attempt))
        if not ports:
            raise StartError("no host port is free on this node")
        for name, port in ports.items():
            environment[variable_name(b"SHUNTER_PORT_", name)] = b"%d" % port

    def folder_of(self, user: str | None) -> str | None:
        """Where a task of another user works; None for the lane's own scratch folder."""
        return None if user is None or self._task_user is not None else self._user_folder

    def clean(self) -> None:
        """Nothing of the last such task is left. The keeper is nowhere in particular afterwards."""
        for path in self._to_remove:
            try:
                if path == self._user_folder:
                    remove_tree(path)
                elif path.endswith("/secrets"):
                    _remove_files(path)
                else:
                    os.unlink(path)
            except OSError:
                pass  # it is gone, or the worker buries it
        self._to_remove.clear()

    def _identity_of(self, user: str | None) -> Identity | None:
        """Who runs the task; None: the keeper's own user. Raises StartError."""
        if self._task_user is None:
            return None if user is None else find_identity(user)
        if user is not None and not self._task_user.may_be(find_identity(user)):
            raise StartError(f"user {user}: this node runs tasks only as {self._task_user.name} (--task-user)")
        return self._task_user if user is None else find_identity(user)

    def _make_user_folder(self, identity: Identity) -> str:
        """A folder that only the user can access: below a public folder, it must be ours before it is theirs."""
        folder = self._user_folder
        if os.path.isdir(folder):
            make_own_folder(folder)
            remove_tree(folder)
        make_own_folder(folder)
        self._to_remove.add(folder)
        scratch = f"{folder}/scratch"
        os.mkdir(scratch, 0o700)
        os.chown(scratch, identity.uid, identity.gid)
        os.chdir(scratch)
        return scratch

    def _write_payload(self, payload: str, identity: Identity | None) -> str:
        from binascii import a2b_base64

        path = f"{self._reachable_folder(identity)}/payload"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(a2b_base64(payload))
            if identity is not None:
                os.fchown(fd, identity.uid, identity.gid)
        self._to_remove.add(path)
        return path

    def _write_secrets(self, files: dict[str, str], identity: Identity | None) -> str:
        """The folder stays ours, so that a task of another user cannot put anything into it."""
        from binascii import a2b_base64

        folder = f"{self._reachable_folder(identity)}/secrets"
        if os.path.isdir(folder):
            _remove_files(folder)
        os.mkdir(folder, 0o700)
        if identity is not None:
            os.chmod(folder, 0o711)
        self._to_remove.add(folder)
        for name, value in files.items():
            fd = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
            with os.fdopen(fd, "wb") as file:
                os.fchmod(fd, 0o400)
                file.write(a2b_base64(value))
                if identity is not None:
                    os.fchown(fd, identity.uid, identity.gid)
        return folder

    def _reachable_folder(self, identity: Identity | None) -> str:
        """A folder of the lane that the task can reach, and that is no place to work in."""
        if self._task_user is not None:
            make_own_folder(self._lane_folder)
        elif identity is not None and self._user_folder not in self._to_remove:
            self._make_user_folder(identity)  # the payload must be where the user can reach it
        folder = self._lane_folder if identity is None else self._user_folder
        make_folders(folder)
        return folder


def _remove_files(folder: str) -> None:
    """A folder of ours, with files only."""
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)


class ExecRequest:
    """What a child process needs to become the task."""

    __slots__ = ("argv", "environment", "folder", "path", "paths", "stdin")

    def __init__(
        self,
        path: bytes,
        argv: list[bytes],
        environment: Environment,
        paths: tuple[str | None, str | None],
        folder: str,
        stdin: str | None,
    ) -> None:
        self.stdin = stdin  # in base64; None: nothing to read
        self.path = path
        self.argv = argv
        self.environment = environment
        self.paths = paths
        self.folder = folder


def user_folder(home: str, number: int) -> str:
    """The working folder of a lane's tasks of other users. Device and inode number distinguish homes on one machine.
    Only the worker can tell them: a keeper that hides secrets sees another file system there."""
    found = os.stat(home)
    return f"{USER_FOLDERS}/shunter-{found.st_dev:x}-{found.st_ino:x}-{number}"


def find_user_folder(home: str, number: int) -> str:
    """The same for a keeper that runs: one that 0.2.0 started has a folder without the device in its name."""
    folder, older = user_folder(home, number), f"{USER_FOLDERS}/shunter-{os.stat(home).st_ino:x}-{number}"
    return older if os.path.isdir(older) and not os.path.isdir(folder) else folder


def variable_name(prefix: bytes, name: str) -> bytes:
    """A variable name: upper case, with _ for characters that are not allowed."""
    return prefix + "".join([letter if letter.isalnum() else "_" for letter in name.upper()]).encode()


def expand_path_pattern(pattern: str | None, job: str, group: str, index: int, attempt: int) -> str | None:
    """Expand a stream's path: %j is the job's name, %g the group's, %i the task's index, %a the attempt, and %% a
    percent sign."""
    if pattern is None or "%" not in pattern:
        return pattern
    values = {"j": job, "g": group, "i": str(index), "a": str(attempt)}
    first, *rest = pattern.split("%")
    # A pattern like "a%%i" splits into "a", "", "i": the empty piece is the first half of a "%%".
    text, parts = first, iter(rest)
    for part in parts:
        if part == "":
            text += "%" + next(parts, "")
        else:
            text += values.get(part[0], "%" + part[0]) + part[1:]
    return text


def _spawn(
    path: bytes, argv: list[bytes], environment: Environment, paths: tuple[str | None, str | None], stdin: str | None
) -> int:
    opened = _open_streams(paths)
    try:
        if stdin is not None:
            opened[0] = _open_stdin(stdin)
        actions = [(os.POSIX_SPAWN_DUP2, fd, stream) for stream, fd in opened.items()]
        return os.posix_spawn(path, argv, environment, file_actions=actions, setsid=True)
    finally:
        for fd in set(opened.values()):
            os.close(fd)


def _fork(identity: Identity, start: ExecRequest) -> int:
    stdin_fd = None if start.stdin is None else _open_stdin(start.stdin)
    try:
        return fork_and_exec(lambda: _exec_as(identity, start, stdin_fd))
    finally:
        if stdin_fd is not None:
            os.close(stdin_fd)


def _exec_as(identity: Identity, start: ExecRequest, stdin_fd: int | None) -> None:
    os.setsid()
    if os.geteuid() == 0:
        os.setgroups(identity.groups)
        identity.become()
    os.chdir(start.folder)
    for stream, fd in _open_streams(start.paths).items():
        os.dup2(fd, stream)
    if stdin_fd is not None:
        os.dup2(stdin_fd, 0)
    os.execve(start.path, start.argv, start.environment)


_OPEN_PROBLEMS = {
    errno.ELOOP: "it is a symbolic link",
    errno.ENXIO: "it is a named pipe that nobody reads, or a socket",
}


def _open_streams(paths: tuple[str | None, str | None]) -> dict[int, int]:
    """The files for stdout (1) and stderr (2), truncated; one file for both if they have the same path."""
    opened: dict[int, int] = {}
    for stream, path in enumerate(paths, 1):
        if path is None:
            continue
        if stream == 2 and path == paths[0]:
            opened[2] = opened[1]
            continue
        try:
            opened[stream] = _open(path)
        except OSError as error:
            for fd in set(opened.values()):
                os.close(fd)
            name = ("stdout", "stderr")[stream - 1]
            problem = _OPEN_PROBLEMS.get(error.errno or 0) or os.strerror(error.errno or 0)
            raise StartError(f"{name} cannot be written to {path}: {problem}") from None
    return opened


def _open_stdin(data: str) -> int:
    """A file in memory with what the task reads from standard input: no user needs the right to reach it."""
    from binascii import a2b_base64

    fd = os.memfd_create("stdin")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(a2b_base64(data))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _open(path: str) -> int:
    """Refuse symbolic links: their creator would choose what is overwritten. Do not wait for the reader of a named
    pipe: all tasks of the lane would wait too."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o644)
    except OSError as error:
        folder = os.path.dirname(path)
        if error.errno != errno.ENOENT or not folder:
            raise
        make_folders(folder, 0o755)
        fd = os.open(path, flags, 0o644)
    os.set_blocking(fd, True)
    return fd
