"""Secrets in the reference model: their committed values, and what orders must have of them. Owned by
`reference_model`."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine import changes as c
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.model.secrets import associated_data
from shunter.simulation.checks.reference_records import require
from shunter.simulation.secret_keys import reveal


@dataclass(slots=True)
class ModelSecret:
    version: int
    value: bytes


class ModelSecrets:
    def __init__(self) -> None:
        self._secrets: dict[tuple[str, str], ModelSecret] = {}

    def set(self, change: c.SecretSet) -> None:
        known = self._secrets.get((change.namespace, change.name))
        version = 1 if known is None else known.version + 1
        where = f"secret {change.namespace}/{change.name}"
        require(change.version == version, f"version {change.version} of {where} is to be {version}")
        value = reveal(change.sealed, associated_data(change.namespace, change.name))
        self._secrets[change.namespace, change.name] = ModelSecret(version, value)

    def deleted(self, change: c.SecretDeleted) -> None:
        where = f"secret {change.namespace}/{change.name}"
        require(self._secrets.pop((change.namespace, change.name), None) is not None, f"{where} was deleted twice")

    def resealed(self, change: c.SecretResealed) -> None:
        known = self._secrets.get((change.namespace, change.name))
        where = f"secret {change.namespace}/{change.name}"
        require(known is not None and known.version == change.version, f"another value of {where} was resealed")
        value = reveal(change.sealed, associated_data(change.namespace, change.name))
        require(known is not None and known.value == value, f"{where} has another value under the new key")

    def check_order(self, order: Order, spec: TaskSpec, committed: TaskSpec) -> None:
        """The order has the committed value of every secret of its task."""
        where = f"task {order.job}/{order.first}#{order.attempt}"
        wanted, sent = [each.name for each in committed.secrets], [each.name for each in spec.secrets]
        require(sent == wanted, f"{where} was ordered with secrets {sent} instead of {wanted}")
        for ref in spec.secrets:
            known = self._secrets.get((order.namespace, ref.name))
            require(known is not None, f"{where} was ordered although secret {ref.name} does not exist")
            is_current = known is not None and ref.value == known.value
            require(is_current, f"{where} was ordered without the committed value of secret {ref.name}")
