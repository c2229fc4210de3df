"""The roles of a manager: what it does of the work of a cluster. Read by `app.manager` and `app.config`."""

from __future__ import annotations

from shunter.model.errors import Invalid, Problem
from shunter.model.rest.manager_views import API, ROLES, SCHEDULER, WATCHER

OPTION = "--roles"


def check_roles(text: str, option: str = OPTION) -> str:
    """The same text. Raises Invalid."""
    parse_roles(text, option)
    return text


def parse_roles(text: str | None, option: str = OPTION) -> tuple[str, ...]:
    """The roles, in their usual order; all of them if none are named. Raises Invalid."""
    if text is None:
        return ROLES
    named = [each.strip() for each in text.split(",")]
    unknown = [each for each in named if each not in ROLES]
    if unknown:
        fix = f"use one or more of {', '.join(ROLES)}, separated by commas"
        raise Invalid([Problem(option, "is not a role", each, fix) for each in unknown[: len(ROLES)]])
    if len(set(named)) < len(named):
        raise Invalid([Problem(option, "names a role twice", text, "name each role once")])
    return tuple(role for role in ROLES if role in named)


def check_combination(roles: tuple[str, ...], *, is_alone: bool, listens_for_workers: bool) -> None:
    """Raises Invalid for roles that cannot work with the other options."""
    if is_alone and roles != ROLES:
        missing = ", ".join(role for role in ROLES if role not in roles)
        fix = "name the etcd that all managers share: --coordination etcd://HOST:2379, or leave --roles out"
        raise Invalid([Problem(OPTION, f"leaves out {missing}, and no other manager can do it", ",".join(roles), fix)])
    if listens_for_workers and SCHEDULER not in roles and WATCHER not in roles:
        fix = f"leave it out, or add a role: {OPTION} {API},{WATCHER}"
        raise Invalid([Problem("--workers-listen", f"is of no use to a manager with the role {API} only", None, fix)])
