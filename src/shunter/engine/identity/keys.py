"""Creates, rotates and revokes API keys, and notes when they are used. Called by the engine's rounds.

The gateway makes ids and secrets: a round only sees digests."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine import changes as c
from shunter.engine.identity.tenants import find_tenant
from shunter.engine.round import Round
from shunter.engine.state.registries.identity import NO_OLD_SECRET, ApiKey, User, user_key
from shunter.engine.state.state import State
from shunter.model.errors import Conflict, NotFound
from shunter.model.identity.keys import SecretDigest
from shunter.model.identity.roles import Role
from shunter.model.job.spec import QUEUE_DEFAULT

KEYS_MAX = 20_000
EXPIRED_KEPT_MS = 30 * 86_400_000  # keys that have expired stay in the list for so long
USE_NOTED_EVERY_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The part of its tenant to which a key is bound; empty means all of it."""

    testbeds: frozenset[str] = frozenset()  # NAMESPACE/NAME
    namespace: str = ""
    queue: str = ""

    def covers(self, other: KeyBounds) -> bool:
        """Whether the other bounds are at least as narrow."""
        return (
            (not self.testbeds or (bool(other.testbeds) and other.testbeds <= self.testbeds))
            and self.namespace in ("", other.namespace)
            and self.queue in ("", other.queue)
        )


@dataclass(frozen=True, slots=True)
class ManagedKeys:
    """Which keys somebody manages: those of a tenant (None: of all) that are bound at least as narrowly as theirs."""

    tenant: str | None = None
    bounds: KeyBounds = KeyBounds()

    def __contains__(self, key: ApiKey) -> bool:
        return self.tenant in (None, key.tenant) and self.bounds.covers(
            KeyBounds(key.testbeds, key.namespace, key.queue)
        )


ALL_KEYS = ManagedKeys()


@dataclass(frozen=True, slots=True)
class KeyDraft:
    id: str
    secret: SecretDigest
    user: str
    roles: tuple[Role, ...]
    note: str
    lifetime_s: float | None  # None: for ever
    tenant: str = ""
    bounds: KeyBounds = KeyBounds()


def on_create_key(round: Round, draft: KeyDraft, by: str) -> None:
    identity = round.state.identity
    if len(identity.keys) >= KEYS_MAX:
        raise Conflict(f"at most {KEYS_MAX:,} keys can exist; revoke some: `shunter key list`")
    if draft.id in identity.keys:
        raise Conflict("the new key has an id that exists already; try again")
    _check_bounds(round.state, draft)
    user = identity.users.get(user_key(draft.tenant, draft.user))
    if user is not None:
        _check_user(user, draft.roles)
    elif draft.user != by:
        option = f" --tenant {draft.tenant}" if draft.tenant else ""
        fix = f"create it: `shunter user create {draft.user} --role {draft.roles[0]}{option}`"
        raise NotFound(f"user '{draft.user}' does not exist; {fix}")
    expires_ms = 0 if draft.lifetime_s is None else round.now_ms + int(draft.lifetime_s * 1000)
    round.record(
        c.KeySet(
            id=draft.id,
            user=draft.user,
            roles=[str(role) for role in draft.roles],
            note=draft.note,
            expires_ms=expires_ms,
            salt=draft.secret.salt,
            digest=draft.secret.digest,
            old_salt=NO_OLD_SECRET.salt,
            old_digest=NO_OLD_SECRET.digest,
            old_until_ms=0,
            by=by,
            at_ms=round.now_ms,
            tenant=draft.tenant,
            testbeds=sorted(draft.bounds.testbeds),
            namespace=draft.bounds.namespace,
            queue=draft.bounds.queue,
        )
    )


def _check_bounds(state: State, draft: KeyDraft) -> None:
    """Whether a tenant's key is bound to what the tenant owns. Raises NotFound."""
    if not draft.tenant:
        return
    tenant, bounds = find_tenant(state, draft.tenant), draft.bounds
    named = {each.partition("/")[0] for each in bounds.testbeds} | ({bounds.namespace} if bounds.namespace else set())
    if foreign := sorted(named - set(tenant.namespaces)):
        raise NotFound(f"namespace '{foreign[0]}' does not exist")
    if bounds.queue not in ("", QUEUE_DEFAULT, *tenant.queues):
        raise NotFound(f"queue '{bounds.queue}' does not exist")


def _check_user(user: User, roles: tuple[Role, ...]) -> None:
    """Whether a key with these roles would work. Raises Conflict."""
    if user.is_disabled:
        raise Conflict(f"user '{user.name}' is disabled; `shunter user enable {user.name}` enables it")
    if missing := [role for role in roles if role not in user.roles and Role.ADMIN not in user.roles]:
        wanted = [role for role in Role if role in (*user.roles, *missing)]
        fix = f"to add it: `shunter user create {user.name} {' '.join(f'--role {role}' for role in wanted)}`"
        raise Conflict(f"user '{user.name}' does not have the role {', '.join(missing)}; {fix}")


def on_rotate_key(
    round: Round, id: str, secret: SecretDigest, overlap_s: float, by: str, managed: ManagedKeys = ALL_KEYS
) -> None:
    """The old secret is accepted for `overlap_s` more."""
    key = find_key(round.state.identity.keys, id, managed)
    if key.has_expired(round.now_ms):
        raise Conflict(f"key '{id}' has expired; create another one: `shunter key create`")
    round.record(
        c.KeySet(
            id=id,
            user=key.user,
            roles=[str(role) for role in key.roles],
            note=key.note,
            expires_ms=key.expires_ms,
            salt=secret.salt,
            digest=secret.digest,
            old_salt=key.secret.salt,
            old_digest=key.secret.digest,
            old_until_ms=round.now_ms + int(overlap_s * 1000),
            by=by,
            at_ms=round.now_ms,
            tenant=key.tenant,
            testbeds=sorted(key.testbeds),
            namespace=key.namespace,
            queue=key.queue,
        )
    )


def on_revoke_key(round: Round, id: str, by: str, managed: ManagedKeys = ALL_KEYS) -> None:
    find_key(round.state.identity.keys, id, managed)
    round.record(c.KeyRevoked(id, by, round.now_ms))


def on_end_session(round: Round, id: str, expires_ms: int) -> None:
    if id not in round.state.identity.ended_sessions:
        round.record(c.SessionEnded(id, expires_ms, round.now_ms))


def on_key_used(round: Round, id: str) -> None:
    key = round.state.identity.keys.get(id)
    if key is not None and is_use_to_be_noted(key, round.now_ms):
        round.record(c.KeyUsed(id, round.now_ms))


def is_use_to_be_noted(key: ApiKey, now_ms: int) -> bool:
    return now_ms - key.used_ms >= USE_NOTED_EVERY_MS


def drop_expired_keys(round: Round) -> None:
    """Called from time to time."""
    before_ms = round.now_ms - EXPIRED_KEPT_MS
    for key in [key for key in round.state.identity.keys.values() if key.has_expired(before_ms)]:
        round.record(c.KeyRevoked(key.id, "expiry", round.now_ms))


def find_key(keys: dict[str, ApiKey], id: str, managed: ManagedKeys = ALL_KEYS) -> ApiKey:
    """Raises NotFound, also for a key that the caller does not manage."""
    key = keys.get(id)
    if key is None or key not in managed:
        raise NotFound(f"key '{id}' does not exist; `shunter key list` shows the ids of all keys")
    return key
