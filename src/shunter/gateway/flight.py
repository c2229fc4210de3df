"""The desk for what the flight recorder has kept, and switching it on and off. Implements
`ports.schedulers.FlightDesk`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from shunter.engine.engine import Engine
from shunter.gateway.explain.plan import Aside
from shunter.model.errors import NotFound
from shunter.model.protocol.flight_records import FlightPage
from shunter.ports.callers import Caller
from shunter.ports.flight import FlightLog
from shunter.ports.schedulers import FlightArchive


class Flight:
    """Without an archive (a cluster that keeps nothing) there is nothing to list."""

    def __init__(self, engine: Engine, log: FlightLog | None, archive: FlightArchive | None, aside: Aside) -> None:
        self._engine, self._log, self._archive, self._aside = engine, log, archive, aside

    @property
    def is_on(self) -> bool:
        return self._engine.schedulers.observers.flight is not None

    def switch(self, is_on: bool) -> None:
        if is_on != self.is_on:
            self._engine.schedulers.record_to(self._log if is_on else None, is_running=True)

    async def segments(self, caller: Caller) -> FlightPage:
        found = [] if self._archive is None else await self._aside(self._archive.list_segments)
        return FlightPage(found, None, len(found))

    async def records(self, caller: Caller) -> AsyncGenerator[bytes, None]:
        if self._archive is None:
            raise NotFound("nothing was recorded: this cluster keeps no files")
        pieces = self._archive.export()
        first = await self._aside(lambda: next(pieces, None))
        if first is None:
            raise NotFound("nothing was recorded yet")

        async def rest() -> AsyncGenerator[bytes, None]:
            piece: bytes | None = first
            while piece is not None:
                yield piece
                piece = await self._aside(lambda: next(pieces, None))

        return rest()
