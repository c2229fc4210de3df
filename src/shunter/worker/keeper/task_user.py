"""Runs tasks as another user than the keeper, which is root. Used by `keeper.task` and `keeper.task_setup`.

Such tasks are started by fork, which is safe, because the keeper has a single thread. posix_spawn is faster, but it
can only make the real user the effective one: the keeper would need the task's user as its real one for a moment, and
then every process of that user could stop or kill it. The kernel lets no process of that user look into the child
before its program runs, because its user has just changed."""

from __future__ import annotations

import os
import select

from .json_lines import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from .work_queue import Environment

REPORT_MAX_BYTES = 65536
EXIT_NOT_EXECUTED = 127
EXEC_MAX_S = 20  # another process of the user may have stopped the child before it ran its program


class StartError(ValueError):
    """Why a task cannot be started, in words for its user."""


class UnknownUser(StartError):
    """The node has no such user."""


class Identity:
    """The user and groups of a task."""

    __slots__ = ("gid", "groups", "home", "name", "uid")

    def __init__(self, uid: int, gid: int, groups: list[int], home: str, name: str = "") -> None:
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.home = home
        self.name = name

    def variables(self) -> Environment:
        """What a login would set."""
        name = os.fsencode(self.name or str(self.uid))
        return {b"HOME": os.fsencode(self.home), b"USER": name, b"LOGNAME": name}

    def spawn(self, path: bytes, argv: list[bytes], environment: Environment) -> int:
        """Start a program as this user. The keeper must be root, with the groups of this user. Raises OSError."""

        def become_task() -> None:
            os.setsid()
            self.become()
            os.execve(path, argv, environment)

        return fork_and_exec(become_task)

    def become(self) -> None:
        """Give up every other right for good; the groups are set already."""
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)

    def enter(self, folder: str) -> None:
        """Change into a folder with the rights of this user. Raises OSError."""
        self.assume()
        try:
            os.chdir(folder)
        finally:
            self.resume()

    def assume(self) -> None:
        """Access files with the rights of this user alone, until `resume`."""
        os.setegid(self.gid)
        os.seteuid(self.uid)

    def resume(self) -> None:
        os.seteuid(0)
        os.setegid(0)

    def may_be(self, other: Identity) -> bool:
        """Whether the user could become the other one without any right."""
        return self.uid == other.uid and (self.gid == other.gid or other.gid in self.groups)


def fork_and_exec(become_task: Callable[[], None]) -> int:
    """A child process that calls this, which runs its program; returns its id. Raises OSError or StartError: what the
    child ran into."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        _report_failure(become_task, write_fd)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb", buffering=0) as file:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        is_late = not poll.poll(EXEC_MAX_S * 1000)
        report = b"" if is_late else file.read(REPORT_MAX_BYTES)  # nothing once the program runs: exec closes the pipe
    if is_late:
        os.kill(pid, 9)
    if not report and not is_late:
        return pid
    os.waitpid(pid, 0)
    if is_late:
        raise StartError(f"its process did not run the program within {EXEC_MAX_S} s")
    number, name, message = decode(report)
    if not number:
        raise StartError(message)
    raise OSError(number, os.strerror(number), name)


def _report_failure(become_task: Callable[[], None], write_fd: int) -> NoReturn:
    try:
        become_task()
    except BaseException as error:
        number = error.errno if isinstance(error, OSError) else 0
        name = error.filename if isinstance(error, OSError) else None
        name = os.fsdecode(name) if isinstance(name, bytes | str) else None
        os.write(write_fd, encode([number or 0, name, str(error)]).encode()[:REPORT_MAX_BYTES])
    finally:
        os._exit(EXIT_NOT_EXECUTED)


def become_parent_of(user: str) -> Identity | None:
    """The identity of all tasks, with whose groups the keeper goes on; None if tasks run as the keeper. Raises
    StartError."""
    if not user:
        return None
    identity = find_identity(user)
    os.setgroups(identity.groups)
    return identity


def find_identity(user: str) -> Identity:
    """USER, USER:GROUP, or their numbers. Raises StartError."""
    import grp
    import pwd

    name, _, group = user.partition(":")
    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        uid, gid, home, login = entry.pw_uid, entry.pw_gid, entry.pw_dir, entry.pw_name
    except KeyError:
        if not name.isdigit():
            raise UnknownUser(f"user {user}: this node has no user {name}") from None
        uid, gid, home, login = int(name), int(name), "/", ""
    if group:
        try:
            gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
        except KeyError:
            raise StartError(f"user {user}: this node has no group {group}") from None
    if os.geteuid() != 0 and (uid, gid) != (os.geteuid(), os.getegid()):
        raise StartError(f"user {user}: the worker must run as root to start tasks as another user")
    return Identity(uid, gid, os.getgrouplist(login, gid) if login else [gid], home, login)
