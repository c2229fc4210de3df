"""Creates, changes and deletes tenants, and refuses what a tenant must not use. Called by the engine's rounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.registries.tenants import Tenant
from shunter.engine.state.state import State
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import NAMESPACE_DEFAULT, QUEUE_DEFAULT
from shunter.model.objects.objects import KINDS
from shunter.model.rest.identity_fields import NAMESPACES_MAX, QUEUES_MAX

TENANTS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class TenantUpdate:
    """Changes of a tenant. None leaves a field unchanged; a quota of None is removed."""

    namespaces: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    quotas: Mapping[str, int | None] | None = None


def on_create_tenant(round: Round, name: str, update: TenantUpdate, by: str) -> None:
    registry = round.state.tenants
    if name in registry.tenants:
        raise Conflict(f"tenant '{name}' exists already; `shunter tenant update {name}` changes it")
    if len(registry.tenants) >= TENANTS_MAX:
        raise Conflict(f"at most {TENANTS_MAX:,} tenants can exist; delete some: `shunter tenant list`")
    empty = Tenant(name, (), (), {}, round.now_ms)
    namespaces = tuple(dict.fromkeys((name, *(update.namespaces or ()))))
    queues = tuple(dict.fromkeys((name, *(update.queues or ()))))
    _record(round, empty, TenantUpdate(namespaces, queues, update.quotas), by)


def on_update_tenant(round: Round, name: str, update: TenantUpdate, by: str) -> None:
    _record(round, find_tenant(round.state, name), update, by)


def on_delete_tenant(round: Round, name: str, by: str) -> None:
    tenant, state = find_tenant(round.state, name), round.state
    left = [*_content(state, tenant.namespaces), *_count("key", _keys_of(state, name))]
    if left:
        raise Conflict(f"tenant '{name}' still has {', '.join(left)}; stop, delete or revoke them first")
    for user in [user for user in state.identity.users.values() if user.tenant == name]:
        round.record(c.UserDeleted(user.name, name, by, round.now_ms))
    round.record(c.TenantDeleted(name, by, round.now_ms))


def find_tenant(state: State, name: str) -> Tenant:
    """Raises NotFound."""
    tenant = state.tenants.tenants.get(name)
    if tenant is None:
        raise no_tenant(name)
    return tenant


def no_tenant(name: str) -> NotFound:
    return NotFound(f"tenant '{name}' does not exist; `shunter tenant list` shows all")


def _record(round: Round, before: Tenant, update: TenantUpdate, by: str) -> None:
    namespaces = before.namespaces if update.namespaces is None else update.namespaces
    queues = before.queues if update.queues is None else update.queues
    if not namespaces:
        raise Conflict(f"tenant '{before.name}' needs at least one namespace, the default of its keys")
    _check_count("namespaces", namespaces, NAMESPACES_MAX)
    _check_count("queues", queues, QUEUES_MAX)
    _check_namespaces(round.state, before, namespaces)
    _check_queues(round.state, before, queues)
    quotas: dict[str, int | None] = {**before.quotas, **(update.quotas or {})}
    wanted = {name: value for name, value in sorted(quotas.items()) if value is not None}
    is_new = before.name not in round.state.tenants.tenants
    if is_new or (before.namespaces, before.queues, dict(before.quotas)) != (namespaces, queues, wanted):
        round.record(c.TenantSet(before.name, list(namespaces), list(queues), wanted, by, round.now_ms))


def _check_count(what: str, names: tuple[str, ...], count_max: int) -> None:
    if len(names) > count_max:
        raise Conflict(f"a tenant has at most {count_max} {what}, not {len(names)}")


def _check_namespaces(state: State, before: Tenant, namespaces: tuple[str, ...]) -> None:
    """A namespace changes hands only while it is empty: what runs there counts towards the quotas of its owner."""
    for namespace in namespaces:
        owner = state.tenants.owner_of(namespace)
        if namespace == NAMESPACE_DEFAULT or owner not in ("", before.name):
            whose = f"tenant '{owner}'; remove it there first" if owner else "the cluster; choose another"
            raise Conflict(f"namespace '{namespace}' belongs to {whose}")
    for namespace in sorted({*namespaces} ^ {*before.namespaces}):
        used = any(record.key.namespace == namespace for record in state.classes.values())
        if left := _content(state, (namespace,)) or (["tasks"] if used else []):
            raise Conflict(f"namespace '{namespace}' still has {', '.join(left)}; stop or delete them first")


def _check_queues(state: State, before: Tenant, queues: tuple[str, ...]) -> None:
    for queue in queues:
        owner = state.tenants.queue_owners.get(queue, "")
        if queue == QUEUE_DEFAULT or owner not in ("", before.name):
            whose = f"belongs to tenant '{owner}'; remove it there first" if owner else "is for everybody; leave it out"
            raise Conflict(f"queue '{queue}' {whose}")
    for queue in sorted({*queues} ^ {*before.queues}):
        if any(record.key.queue == queue for record in state.classes.values()):
            raise Conflict(f"queue '{queue}' still has unfinished jobs; stop them first")


def _content(state: State, namespaces: Collection[str]) -> list[str]:
    """What is left in namespaces, counted."""
    jobs = [job for namespace in namespaces for job in _jobs_in(state, namespace)]
    templates = [each for each in state.templates.by_id.values() if each.namespace in namespaces]
    objects = state.objects
    found = [*_count("unfinished job", jobs), *_count("template", templates)]
    found += _count("secret", [each for namespace in namespaces for each in state.secrets.of_namespace(namespace)])
    for kind in KINDS:
        found += _count(kind, [each for each in objects.all(kind) if each.meta.namespace in namespaces])
    return found


def _jobs_in(state: State, namespace: str) -> Sequence[object]:
    newest = list(state.jobs_by_name.get(namespace, {}).values())
    older = [job for (each, _), jobs in state.older_runs.items() if each == namespace for job in jobs]
    return [*newest, *older]


def _keys_of(state: State, name: str) -> Sequence[object]:
    return [key for key in state.identity.keys.values() if key.tenant == name]


def _count(what: str, found: Sequence[object]) -> list[str]:
    return [f"{len(found):,} {what}{'' if len(found) == 1 else 's'}"] if found else []
