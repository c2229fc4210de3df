"""Records requests in the audit log that change nothing in the state: stopping a manager, or handing over the lead."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.log import Log
from shunter.model.errors import ShunterError

log = Log(__name__)


async def note_act(engine: Engine) -> None:
    """Before it is carried out, on the leader. A full disk must not keep anybody from stopping a manager."""
    if engine.is_following:
        return
    try:
        await engine.note_act()
    except ShunterError as error:
        log.warning("audit.act_not_recorded", error=error)
