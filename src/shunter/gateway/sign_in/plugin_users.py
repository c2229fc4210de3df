"""Asks plugins whom a credential stands for, and remembers the answers for a minute. Used by `gateway.sign_in`.

A plugin is code of others: it runs in a thread, within a time, and whatever it raises refuses the credential. What it
raised is in the log, not in the answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from shunter.log import Log
from shunter.model.errors import Busy, Unauthorized, Unavailable
from shunter.model.identity.oidc import ExternalUser, check_user_name
from shunter.model.identity.roles import Role
from shunter.ports.security.authenticator import Authenticator

ANSWER_MAX_S = 5.0
REMEMBERED_S = 60.0
ANSWERS_MAX = 10_000  # each takes less than 2 KiB
CALLS_MAX = 16  # at once, those that did not end in time included

log = Log(__name__)


class RunInThread(Protocol):
    def __call__(
        self, function: Callable[[str], ExternalUser | None], credential: str, /
    ) -> Awaitable[ExternalUser | None]: ...


class PluginUsers:
    def __init__(
        self, authenticators: Mapping[str, Authenticator], run_in_thread: RunInThread, monotonic_s: Callable[[], float]
    ) -> None:
        self._authenticators, self._run_in_thread, self._monotonic_s = authenticators, run_in_thread, monotonic_s
        self._answers: dict[bytes, tuple[ExternalUser | str, float]] = {}  # a user or a refusal, until when
        self._calls = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._authenticators)

    def find(self, credential: str) -> ExternalUser | None:
        """The user, by the answers of the last minute. Raises Unauthorized with a plugin's reason."""
        answer = self._find_answer(credential)
        if isinstance(answer, str) and answer:
            raise Unauthorized(answer)
        return answer if isinstance(answer, ExternalUser) else None

    async def ask(self, credential: str) -> None:
        """Unless the answer is known: in the order of the settings, until a plugin knows the credential. Raises
        Unavailable, Busy."""
        if self._find_answer(credential) is not None:
            return
        answer: ExternalUser | str = ""
        for name, authenticator in self._authenticators.items():
            answer = await self._ask_one(name, authenticator, credential)
            if answer:
                break
        while len(self._answers) >= ANSWERS_MAX:
            del self._answers[next(iter(self._answers))]
        self._answers[_digest(credential)] = answer, self._monotonic_s() + REMEMBERED_S

    def _find_answer(self, credential: str) -> ExternalUser | str | None:
        answer, until_s = self._answers.get(_digest(credential), (None, 0.0))
        if answer is not None and self._monotonic_s() >= until_s:
            del self._answers[_digest(credential)]
            return None
        return answer

    async def _ask_one(self, name: str, authenticator: Authenticator, credential: str) -> ExternalUser | str:
        """A user, a reason for a refusal, or empty if it does not know the credential."""
        if self._calls >= CALLS_MAX:
            raise Busy(f"{CALLS_MAX} credentials are being looked at by plugins; try again", 1.0)
        self._calls += 1
        call = asyncio.ensure_future(self._run_in_thread(partial(_call, authenticator), credential))
        call.add_done_callback(self._end_call)
        try:
            found = await asyncio.wait_for(asyncio.shield(call), ANSWER_MAX_S)
            return "" if found is None else _checked(found, name)
        except Unauthorized as error:
            return f"{error.detail} (plugin {name})"
        except TimeoutError:
            log.error("authenticator.slow", name=name, limit_s=ANSWER_MAX_S)
            raise Unavailable(f"the plugin {name} did not check a credential in time") from None
        except Exception as error:
            log.error("authenticator.failed", name=name, error=f"{type(error).__name__}: {error}"[:300])
            raise Unavailable(f"the plugin {name} failed to check a credential; see the log of the manager") from None

    def _end_call(self, call: asyncio.Future[ExternalUser | None]) -> None:
        self._calls -= 1
        if not call.cancelled():
            call.exception()  # it was reported, or came too late


def _call(authenticator: Authenticator, credential: str) -> ExternalUser | None:
    try:
        return authenticator.authenticate(credential)
    except SystemExit as error:  # it would end the manager
        raise RuntimeError(f"SystemExit: {error}") from None


def _checked(found: object, name: str) -> ExternalUser:
    """Raises TypeError, Unauthorized for what is no user."""
    if not isinstance(found, ExternalUser) or not isinstance(found.tenant, str):
        raise TypeError(f"answered with {type(found).__name__} and not with an ExternalUser or None")
    roles = frozenset(Role(role) for role in found.roles)
    if not roles:
        raise Unauthorized("the user has no role")
    return replace(found, user=check_user_name(found.user, "the answer"), roles=roles, authority=name)


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode()).digest()
