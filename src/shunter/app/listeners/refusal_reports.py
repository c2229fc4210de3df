"""Has refused requests recorded in the audit log, once a minute: by this manager if it leads, else by the leader.
Started by `app.manager`."""

from __future__ import annotations

import asyncio

from shunter.api.audit.refusals import RefusalCounter
from shunter.engine.engine import Engine
from shunter.gateway.managers import Managers
from shunter.log import Log
from shunter.model.errors import ShunterError
from shunter.ports.managers import ManagerClient

EVERY_S = 60.0
log = Log(__name__)


class RefusalReports:
    def __init__(self, engine: Engine, managers: Managers, client: ManagerClient | None) -> None:
        self._engine, self._managers, self._client = engine, managers, client
        self.counter = RefusalCounter()  # replaced by that of the listeners when they are there

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """What cannot be recorded now is counted with the next minute."""
        refused = self.counter.take()
        if not refused:
            return
        try:
            if not self._engine.is_following:
                await self._engine.note_refused(refused)
            elif self._client is not None:
                await self._client.report_refused(self._managers.leader_url(), refused)
        except ShunterError as error:
            self.counter.put_back(refused)
            log.warning("audit.refusals_postponed", error=error)
