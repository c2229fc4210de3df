"""Sets, deletes and re-encrypts secrets. Called by the engine's rounds. `gateway.secrets` encrypts values."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.registries.secrets import Secret, SecretRegistry
from shunter.engine.state.state import State
from shunter.model.errors import Conflict, Invalid, NotFound, Problem
from shunter.model.job.spec import JobSpec
from shunter.model.secrets import NOT_TEXT_FIX, SECRETS_MAX, VALUES_BYTES_MAX, SealedValue

Resealed = tuple[Secret, SealedValue]  # what was encrypted again, and the result


def on_set_secret(round: Round, namespace: str, name: str, sealed: SealedValue, by: str, is_text: bool = True) -> None:
    registry = round.state.secrets
    known = registry.secrets.get((namespace, name))
    if known is None and len(registry.secrets) >= SECRETS_MAX:
        raise Conflict(f"at most {SECRETS_MAX:,} secrets can exist; delete some with `shunter secret delete`")
    size_bytes = registry.size_bytes + len(sealed.ciphertext) - (len(known.sealed.ciphertext) if known else 0)
    if size_bytes > VALUES_BYTES_MAX:
        raise Conflict(f"all secrets together may have at most {VALUES_BYTES_MAX:,} bytes; delete some, or store less")
    if not is_text and _is_variable(round.state, namespace, name):
        raise Conflict(f"unfinished jobs use secret '{name}' as a variable, so it must be text; {NOT_TEXT_FIX}")
    version = 1 if known is None else known.version + 1
    round.record(c.SecretSet(namespace, name, version, sealed, by, round.now_ms, is_text))


def _is_variable(state: State, namespace: str, name: str) -> bool:
    keys = (record.key for record in state.classes.values())
    return any(name in key.secret_variables and key.namespace == namespace for key in keys)


def on_delete_secret(round: Round, namespace: str, name: str, by: str) -> None:
    find_secret(round.state.secrets, namespace, name)
    round.record(c.SecretDeleted(namespace, name, by, round.now_ms))


def on_reseal_secrets(round: Round, resealed: Sequence[Resealed]) -> int:
    """A secret that has got another value in the meantime stays as it is. Returns how many were replaced."""
    secrets, count = round.state.secrets.secrets, 0
    for old, sealed in resealed:
        if secrets.get((old.namespace, old.name)) == old:
            round.record(c.SecretResealed(old.namespace, old.name, old.version, sealed))
            count += 1
    return count


def check_references(registry: SecretRegistry, specs: Sequence[JobSpec]) -> None:
    """What tasks reference must exist, and be text where it is a variable. One that is deleted or replaced later makes
    its tasks wait. Raises Invalid."""
    problems = []
    for spec in specs:
        refs = (ref for group in spec.groups for ref in group.task.secrets)
        for ref in {(ref.name, bool(ref.env)): ref for ref in refs}.values():
            secret = registry.secrets.get((spec.namespace, ref.name))
            if secret is None:
                fault = f"secret '{ref.name}' does not exist in namespace '{spec.namespace}'"
                fix = f"set it first: `shunter secret set {ref.name} --namespace {spec.namespace}`"
            elif ref.env and not secret.is_text:
                fault, fix = f"secret '{ref.name}' is not text, so it cannot be the variable {ref.env}", NOT_TEXT_FIX
            else:
                continue
            problems.append(Problem("spec.secrets", fault, None, fix))
    if problems:
        raise Invalid(problems)


def find_secret(registry: SecretRegistry, namespace: str, name: str) -> Secret:
    """Raises NotFound."""
    secret = registry.secrets.get((namespace, name))
    if secret is None or secret.is_internal:
        raise no_secret(namespace, name)
    return secret


def no_secret(namespace: str, name: str) -> NotFound:
    fix = "`shunter secret list` shows all of the namespace"
    return NotFound(f"secret '{name}' does not exist in namespace '{namespace}'; {fix}")
