"""Creates, changes and disables users. Called by the engine's rounds."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.identity.tenants import find_tenant
from shunter.engine.round import Round
from shunter.engine.state.registries.identity import user_key
from shunter.model.errors import Conflict, NotFound
from shunter.model.identity.roles import Role

USERS_MAX = 20_000


def on_put_user(
    round: Round, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None, by: str, tenant: str = ""
) -> None:
    """None leaves the value unchanged. A new user needs roles."""
    if tenant:
        find_tenant(round.state, tenant)
    users = round.state.identity.users
    known = users.get(user_key(tenant, name))
    if known is None and roles is None:
        raise NotFound(f"user '{name}' does not exist; create it: `shunter user create {name} --role submitter`")
    if known is None and len(users) >= USERS_MAX:
        raise Conflict(f"at most {USERS_MAX:,} users can exist")
    wanted_roles = roles if roles is not None else known.roles if known else ()
    wanted_disabled = is_disabled if is_disabled is not None else known.is_disabled if known else False
    if known is None or (known.roles, known.is_disabled) != (wanted_roles, wanted_disabled):
        round.record(c.UserSet(name, [str(role) for role in wanted_roles], wanted_disabled, by, round.now_ms, tenant))
