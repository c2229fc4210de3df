"""Runs a policy outside of rounds in the manager's own process. The policy sees the same situations as an external
scheduler, and its decisions return through the inbox. Started by the app and the simulator.

The caller passes in how the policy runs (in a thread or directly). Its lease runs while it decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.policy.sessions import Session
from shunter.log import Log
from shunter.model.errors import Invalid, Rejected, TooLarge, Unavailable
from shunter.planning.remote.policy_host import PolicyHost
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.view import Policy
from shunter.ports.clock import Clock

RunInThread = Callable[[Callable[[], Any]], Awaitable[Any]]
REFUSED_RETRY_S = 0.1  # after a decision was refused as a whole
log = Log(__name__)


async def run_policy_loop(engine: Engine, policy: Policy, clock: Clock, run_in_thread: RunInThread) -> None:
    """Run until cancelled, or until the engine stops. A policy that fails is silent until its lease has ended."""
    while not engine.schedulers.is_closed:
        session = engine.schedulers.open(engine.active_policy.leader_session, wants_of(policy), is_local=True)
        try:
            await _serve(engine, session, PolicyHost(policy), run_in_thread)
        except Rejected as error:  # its lease ended while it was deciding
            log.warning("policy.refused", policy=policy.name, error=error)
            await clock.sleep(REFUSED_RETRY_S)
        except Unavailable as error:
            log.warning("policy.refused", policy=policy.name, error=error)
            await clock.sleep(error.retry_after_s)
        except (Exception, SystemExit) as error:  # code of a plugin
            engine.active_policy.record_failure(error)
            engine.schedulers.close(session, f"its policy failed: {error}")
            await clock.sleep(session.lease_ms / 1000)
        finally:
            engine.schedulers.close(session, "its policy was replaced")


async def _serve(engine: Engine, session: Session, policy_host: PolicyHost, run_in_thread: RunInThread) -> None:
    while (situation := await engine.schedulers.next(session)) is not None:
        row = await run_in_thread(partial(policy_host.decide, situation))
        try:
            await engine.schedulers.decide(session.token, row)
        except (Invalid, TooLarge) as error:  # of the decision, not of the session: it is asked again
            engine.active_policy.report_problem(f"its decision was refused: {error.detail}")
