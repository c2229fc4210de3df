"""The sub-gateway `secrets`. Implements `ports.identity.SecretService`.

A value is encrypted here, before it reaches the engine: commands and changes carry ciphertext only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shunter.engine.engine import Engine
from shunter.engine.secrets.secrets import find_secret, no_secret
from shunter.engine.state.registries.secrets import Secret
from shunter.gateway.scope import Scope
from shunter.model.rest.secret_views import KeyRotation, SecretPage, SecretView
from shunter.model.secrets import SealedValue, associated_data, is_text
from shunter.model.timestamps import iso
from shunter.ports.principals import Principal

RESEALED_BYTES_MAX = 4 * 2**20  # in one commit
RESEALED_MAX = 1_000


class Secrets:
    def __init__(self, caller: Principal, engine: Engine, scope: Scope) -> None:
        self._caller, self._engine, self._scope = caller, engine, scope

    async def list(self, namespace: str, limit: int, after: str | None) -> SecretPage:
        await self._engine.wait_committed()
        if not self._scope.sees(namespace):
            return SecretPage([], None, 0)
        found = sorted(self._engine.state.secrets.of_namespace(namespace), key=lambda each: each.name)
        rest = [each for each in found if after is None or each.name > after]
        following = rest[limit - 1].name if len(rest) > limit else None
        return SecretPage([_view(each) for each in rest[:limit]], following, len(found))

    async def set(self, namespace: str, name: str, value: bytes) -> SecretView:
        self._scope.require(namespace)
        sealed = self._engine.secrets.keys.seal(value, associated_data(namespace, name))
        await self._engine.set_secret(namespace, name, sealed, self._caller.user, is_text=is_text(value))
        return _view(find_secret(self._engine.state.secrets, namespace, name))

    async def delete(self, namespace: str, name: str) -> None:
        if not self._scope.sees(namespace):
            raise no_secret(namespace, name)
        await self._engine.delete_secret(namespace, name, self._caller.user)

    async def rotate_key(self) -> KeyRotation:
        """The old key stays until all secrets are encrypted with the new one, so it can be repeated at any point. A
        cluster without secrets gets no further key."""
        await self._engine.wait_committed()
        keys, secrets = self._engine.secrets.keys, self._engine.state.secrets.secrets
        key, added = keys.ensure(), False
        if secrets and all(each.sealed.key_id == key for each in secrets.values()):
            key, added = keys.add(), True
        stale = [each for each in secrets.values() if each.sealed.key_id != key]
        count = 0
        for batch in _batches(stale):
            count += await self._engine.reseal_secrets([(each, self._reseal(each)) for each in batch])
        return KeyRotation(key, count, added)

    def _reseal(self, secret: Secret) -> SealedValue:
        keys, bound_to = self._engine.secrets.keys, associated_data(secret.namespace, secret.name)
        return keys.seal(keys.open(secret.sealed, bound_to), bound_to)


def _batches(secrets: Iterable[Secret]) -> Iterator[list[Secret]]:
    batch: list[Secret] = []
    size_bytes = 0
    for each in secrets:
        if batch and (len(batch) >= RESEALED_MAX or size_bytes + len(each.sealed.ciphertext) > RESEALED_BYTES_MAX):
            yield batch
            batch, size_bytes = [], 0
        batch.append(each)
        size_bytes += len(each.sealed.ciphertext)
    if batch:
        yield batch


def _view(secret: Secret) -> SecretView:
    return SecretView(
        namespace=secret.namespace,
        name=secret.name,
        version=secret.version,
        key=secret.sealed.key_id,
        set_by=secret.by,
        created_at=iso(secret.created_ms / 1000) or "",
        updated_at=iso(secret.updated_ms / 1000) or "",
    )
