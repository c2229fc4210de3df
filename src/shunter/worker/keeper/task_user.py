"""Runs tasks as another user than the keeper, which is root. Used by `keeper.task` and `keeper.task_setup`.

Plain tasks are started by posix_spawn, which sets the effective user to the real one: the keeper lends itself the
task's user as its real one while it spawns. That is as fast as a start without a change of user. The kernel lets no
process of that user look into the child before its program runs, because its effective user has just changed."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .work_queue import Environment


class StartError(ValueError):
    """Why a task cannot be started, in words for its user."""


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
        os.setresgid(self.gid, 0, 0)
        os.setresuid(self.uid, 0, 0)
        try:
            return os.posix_spawn(path, argv, environment, setsid=True, resetids=True)
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)

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
            raise StartError(f"user {user}: this node has no user {name}") from None
        uid, gid, home, login = int(name), int(name), "/", ""
    if group:
        try:
            gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
        except KeyError:
            raise StartError(f"user {user}: this node has no group {group}") from None
    if os.geteuid() != 0 and (uid, gid) != (os.geteuid(), os.getegid()):
        raise StartError(f"user {user}: the worker must run as root to start tasks as another user")
    return Identity(uid, gid, os.getgrouplist(login, gid) if login else [gid], home, login)
