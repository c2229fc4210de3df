"""The sub-gateway `flight`: reads flight recordings, and switches the recorder on and off. Implements
`ports.schedulers.FlightService`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from shunter.engine.engine import Engine
from shunter.gateway.explain.plan import RunInThread
from shunter.model.errors import NotFound
from shunter.model.protocol.flight_records import FlightPage
from shunter.ports.flight import FlightLog
from shunter.ports.schedulers import FlightArchive


class Flight:
    """A cluster that keeps no files has no archive: its list is empty."""

    def __init__(
        self, engine: Engine, log: FlightLog | None, archive: FlightArchive | None, run_in_thread: RunInThread
    ) -> None:
        self._engine, self._log, self._archive, self._run_in_thread = engine, log, archive, run_in_thread

    @property
    def is_enabled(self) -> bool:
        return self._engine.schedulers.observers.flight is not None

    def set_enabled(self, is_enabled: bool) -> None:
        if is_enabled != self.is_enabled:
            self._engine.schedulers.record_to(self._log if is_enabled else None, is_running=True)

    async def segments(self) -> FlightPage:
        found = [] if self._archive is None else await self._run_in_thread(self._archive.list_segments)
        return FlightPage(found, None, len(found))

    async def records(self) -> AsyncGenerator[bytes, None]:
        if self._archive is None:
            raise NotFound("the cluster has no recording: it stores no files")
        chunks = self._archive.export()
        first = await self._run_in_thread(lambda: next(chunks, None))
        if first is None:
            raise NotFound("the cluster has no recording yet")

        async def stream_chunks() -> AsyncGenerator[bytes, None]:
            chunk: bytes | None = first
            while chunk is not None:
                yield chunk
                chunk = await self._run_in_thread(lambda: next(chunks, None))

        return stream_chunks()
