"""Secrets, encrypted, and why tasks that need some of them cannot start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shunter.engine import changes as c
from shunter.model.secrets import INTERNAL_PREFIX, NOT_TEXT_FIX, SealedValue

if TYPE_CHECKING:
    from shunter.engine.state.records import ClassKey

SecretName = tuple[str, str]  # namespace and name


@dataclass(frozen=True, slots=True)
class Secret:
    namespace: str
    name: str
    version: int  # rises with every value
    sealed: SealedValue
    by: str  # who set the value
    created_ms: int
    updated_ms: int
    is_text: bool = True  # whether it can be a variable

    @property
    def is_internal(self) -> bool:
        return self.name.startswith(INTERNAL_PREFIX)


class SecretRegistry:
    def __init__(self) -> None:
        self.secrets: dict[SecretName, Secret] = {}
        self.size_bytes = 0  # of all ciphertexts
        self.revision = 0  # changes with every change; of this process only
        # Ids of the keys that this manager has, as of this round; None if nobody looks, as in dry runs.
        self.known_keys: frozenset[str] | None = None
        self.unreadable: set[SealedValue] = set()  # which this process could not decrypt
        self.missing_keys: frozenset[str] = frozenset()  # which secrets need, and this manager lacks
        self._key_uses: Counter[str] = Counter()  # ids of keys -> secrets
        self.pending_revision = -1  # at which pending classes were last updated

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.SecretSet: self._set, c.SecretDeleted: self._delete, c.SecretResealed: self._reseal}

    def dump(self) -> list[tuple[Any, ...]]:
        found = sorted(self.secrets.values(), key=lambda each: (each.namespace, each.name))
        return [tuple(getattr(each, name) for name in Secret.__slots__) for each in found]

    def load(self, dump: list[Any]) -> None:
        for namespace, name, version, sealed, *rest in dump:
            self._put(Secret(namespace, name, version, SealedValue(*sealed), *rest))

    def of_namespace(self, namespace: str) -> Iterator[Secret]:
        """The secrets that users created in a namespace."""
        return (each for each in self.secrets.values() if each.namespace == namespace and not each.is_internal)

    def problem_of(self, namespace: str, names: Iterable[str], variables: Collection[str] = ()) -> str:
        """Why tasks that need these secrets, some of them as variables, cannot start; empty if they can."""
        for name in names:
            secret = self.secrets.get((namespace, name))
            if secret is None:
                fix = f"set it with `shunter secret set {name} --namespace {namespace}`"
                return f"secret '{name}' does not exist in namespace '{namespace}'; {fix}"
            if self.known_keys is not None and secret.sealed.key_id not in self.known_keys:
                return f"secret '{name}' is encrypted with key {secret.sealed.key_id}, which the leader does not have"
            if secret.sealed in self.unreadable:
                return f"secret '{name}' cannot be decrypted: its stored value was altered; set it again"
            if name in variables and not secret.is_text:
                return not_text(namespace, name)
        return ""

    def problem_of_class(self, key: ClassKey) -> str:
        return self.problem_of(key.namespace, key.secrets, key.secret_variables)

    def mark_unreadable(self, secret: Secret) -> None:
        self.unreadable.add(secret.sealed)
        self.revision += 1

    def know_keys(self, ids: frozenset[str]) -> None:
        if ids != self.known_keys:
            self.known_keys = ids
            self.unreadable.clear()
            self.revision += 1
        self.missing_keys = frozenset(self._key_uses) - ids

    def _put(self, secret: Secret) -> None:
        key = secret.namespace, secret.name
        known = self.secrets.get(key)
        self.size_bytes += len(secret.sealed.ciphertext) - (len(known.sealed.ciphertext) if known else 0)
        self._forget(known)
        self.secrets[key] = secret
        self._key_uses[secret.sealed.key_id] += 1
        self.revision += 1

    def _set(self, change: c.SecretSet) -> None:
        known = self.secrets.get((change.namespace, change.name))
        created_ms = change.at_ms if known is None else known.created_ms
        values = change.version, change.sealed, change.by, created_ms, change.at_ms, change.is_text
        self._put(Secret(change.namespace, change.name, *values))

    def _delete(self, change: c.SecretDeleted) -> None:
        known = self.secrets.pop((change.namespace, change.name), None)
        if known is not None:
            self.size_bytes -= len(known.sealed.ciphertext)
            self._forget(known)
            self.revision += 1

    def _forget(self, known: Secret | None) -> None:
        if known is not None:
            self._key_uses[known.sealed.key_id] -= 1
            if not self._key_uses[known.sealed.key_id]:
                del self._key_uses[known.sealed.key_id]

    def _reseal(self, change: c.SecretResealed) -> None:
        known = self.secrets.get((change.namespace, change.name))
        if known is not None and known.version == change.version:
            self._put(replace(known, sealed=change.sealed))


def not_text(namespace: str, name: str) -> str:
    fault = f"secret '{name}' of namespace '{namespace}' is not text, so it cannot be a variable"
    return f"{fault}; {NOT_TEXT_FIX}"
