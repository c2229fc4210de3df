"""Records of attempts that no keeper runs: one file each in `HOME/attempts`, from before the start until the result is
acknowledged. Used by `worker.runtimes.attempts`; a restarted worker reads them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.worker.runtimes.port import Attempt

log = Log(__name__)


class Record(msgspec.Struct, omit_defaults=True):
    """`order` is reduced to the one task."""

    order: Order
    spec: TaskSpec
    ports: dict[str, int] = {}
    devices: dict[str, list[str]] = {}
    segment: int = 0
    how: str = ""  # why it is being ended, once it is
    detail: str = ""
    ended: Ended | None = None  # its result, once there is one

    @property
    def attempt(self) -> Attempt:
        return Attempt(self.order.job, self.order.group, self.order.first, self.order.attempt)


class RecordStore:
    """Files are replaced whole, so that a worker that is killed leaves the old one or the new one."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "attempts"

    def load(self) -> list[Record]:
        """The records of all attempts of an earlier worker process. An unreadable file is reported and skipped."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=Record))
            except (OSError, msgspec.MsgspecError) as error:
                log.error("record.unreadable", path=path, error=error)
        return found

    def write(self, record: Record) -> None:
        """Raises OSError."""
        path = self._path(record.attempt, "json")
        temporary = path.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(record))
        temporary.rename(path)

    def write_payload(self, record: Record) -> Path | None:
        """Write the file of its payload, if it has one. Raises OSError."""
        if record.spec.payload is None:
            return None
        path = self._path(record.attempt, "payload")
        path.write_bytes(record.spec.payload)
        return path

    def payload(self, record: Record) -> Path | None:
        return self._path(record.attempt, "payload") if record.spec.payload is not None else None

    def remove(self, attempt: Attempt) -> None:
        for suffix in ("payload", "json"):
            self._path(attempt, suffix).unlink(missing_ok=True)

    def _path(self, attempt: Attempt, suffix: str) -> Path:
        return self._folder / f"{attempt.job}-{attempt.group}-{attempt.index}-{attempt.number}.{suffix}"
