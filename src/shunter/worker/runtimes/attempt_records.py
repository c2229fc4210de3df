"""Records of attempts that no keeper runs: one file each in `HOME/attempts`, from before the start until the result is
acknowledged. Used by `worker.runtimes.attempts`; a restarted worker reads them."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import msgspec

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.worker.runtimes.port import Attempt
from shunter.worker.secret_values import secret_files

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
        """The records of all attempts of an earlier worker process. An unreadable file is reported and skipped. What
        that process had not finished writing, perhaps values of secrets, is removed."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.glob("*.new"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob("*.secrets"):
            if not path.with_suffix(".json").exists():
                rmtree(path, ignore_errors=True)
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
        stored = record if record.ended is None else msgspec.structs.replace(record, spec=_without_values(record.spec))
        temporary.write_bytes(msgspec.json.encode(stored))
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

    def write_secrets(self, record: Record) -> Path | None:
        """Write the files of its secrets, if it has any. Raises OSError."""
        files = secret_files(record.spec)
        if not files:
            return None
        folder = self._path(record.attempt, "secrets")
        rmtree(folder, ignore_errors=True)
        folder.mkdir()
        folder.chmod(0o755)
        for name, value in files.items():
            path = folder / name
            path.write_bytes(value)
            path.chmod(0o444)  # the image may name any user; on the node, nobody gets through the folder above
        return folder

    def secrets(self, record: Record) -> Path | None:
        return self._path(record.attempt, "secrets") if secret_files(record.spec) else None

    def remove_secrets(self, attempt: Attempt) -> None:
        rmtree(self._path(attempt, "secrets"), ignore_errors=True)

    def remove(self, attempt: Attempt) -> None:
        self.remove_secrets(attempt)
        for suffix in ("payload", "json"):
            self._path(attempt, suffix).unlink(missing_ok=True)

    def _path(self, attempt: Attempt, suffix: str) -> Path:
        return self._folder / f"{attempt.job}-{attempt.group}-{attempt.index}-{attempt.number}.{suffix}"


def _without_values(spec: TaskSpec) -> TaskSpec:
    """The task has ended: nobody needs the values of its secrets any longer."""
    references = tuple(msgspec.structs.replace(each, value=None) for each in spec.secrets)
    return msgspec.structs.replace(spec, secrets=references)
