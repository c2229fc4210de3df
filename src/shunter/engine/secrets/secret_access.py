"""What rounds do with the keys that encrypt secrets. Owned by `engine.engine`."""

from __future__ import annotations

from collections.abc import Callable

from shunter.engine.round import Round
from shunter.engine.state.state import State
from shunter.log import Log
from shunter.model.secrets import associated_data
from shunter.ports.security.secret_keys import NoSecretKey, NoSecretKeys, SecretKeys

log = Log(__name__)


class SecretAccess:
    """Which keys this manager has may change at any time: they are in a file."""

    def __init__(self, keys: SecretKeys | None, current_state: Callable[[], State]) -> None:
        self.keys = keys or NoSecretKeys()
        self._current_state = current_state

    @property
    def lacks_keys(self) -> bool:
        return bool(self._current_state().secrets.missing_keys)

    def prepare(self, round: Round) -> None:
        """Let a round seal and open secrets."""
        round.outbox.open_secret = self._open
        round.seal = None if isinstance(self.keys, NoSecretKeys) else self.keys.seal
        if self._current_state().secrets.secrets:
            self._look_for_keys()

    def _open(self, namespace: str, name: str) -> bytes:
        """The value of a secret that placement has found. Raises NoSecretKey only if the store was altered, or if the
        key has gone since this round began."""
        registry = self._current_state().secrets
        secret = registry.secrets.get((namespace, name))
        if secret is None:
            raise NoSecretKey("it was deleted in the round that placed its task")
        try:
            return self.keys.open(secret.sealed, associated_data(namespace, name))
        except NoSecretKey as error:
            log.error("secret.unreadable", namespace=namespace, secret=name, error=error)
            self._look_for_keys()
            if secret.sealed.key_id not in registry.missing_keys:
                registry.mark_unreadable(secret)
            raise

    def _look_for_keys(self) -> None:
        registry = self._current_state().secrets
        before = registry.missing_keys
        registry.know_keys(frozenset(self.keys.ids()))
        if registry.missing_keys != before and registry.missing_keys:
            text = " ".join(sorted(registry.missing_keys))
            log.error("secrets_key.missing", keys=text, fix="add them to the key file of this manager; tasks wait")
