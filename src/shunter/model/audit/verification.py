"""Checks the chain of an audit log, line by line. Pure; used by clients, so that nobody has to trust the manager."""

from __future__ import annotations

from dataclasses import dataclass, field

from shunter.model.audit.records import GENESIS, AuditRecord, Checkpoint, next_hash, split_line

PROBLEMS_MAX = 20


@dataclass(slots=True)
class ChainVerifier:
    """`add` each line in order, then `finish`. `kept_head` is a hash that was kept elsewhere: the chain must have it.

    The first record that retention left can be checked when a checkpoint comes that says what was before it."""

    kept_head: str = ""
    first: int = 0
    last: int = 0
    records: int = 0
    head: str = ""
    problems: list[str] = field(default_factory=list)
    _hash: bytes = GENESIS
    _first_body: bytes = b""
    _first_hash: bytes = b""
    _is_start_known: bool = False  # a checkpoint says what was before the first record
    _is_head_found: bool = False

    def add(self, line: bytes) -> None:
        try:
            record, body, hash = split_line(line)
        except ValueError as error:
            self._report(f"the line after record {self.last} cannot be read: {error}")
            return
        if not self.records:
            self.first, self._first_body, self._first_hash = record.number, body, hash
        self._check(record, body, hash)
        self.records += 1
        self.last, self._hash, self.head = record.number, hash, hash.hex()
        self._is_head_found = self._is_head_found or self.head == self.kept_head
        if record.checkpoint is not None:
            self._check_start(record.number, record.checkpoint)

    def finish(self, number: int | None = None, head: str = "") -> None:
        """`number` and `head` are those of the last record, as the state of the cluster has them."""
        if self.first > 1 and not self._is_start_known:
            self._report(
                f"the records before {self.first} are missing, and no checkpoint says that retention dropped them"
            )
        if number is not None and self.last != number:
            self._report(f"the log ends with record {self.last}, but {number} were committed")
        elif number and self.head != head:
            self._report(f"record {number} is not the one that was committed")
        if self.kept_head and not self._is_head_found:
            self._report(
                f"no record has the hash {self.kept_head}: a record up to that one was changed,"
                " or retention has dropped that one"
            )

    def _check(self, record: AuditRecord, body: bytes, hash: bytes) -> None:
        if self.records and record.number != self.last + 1:
            self._report(f"record {self.last + 1} is missing: record {record.number} follows {self.last}")
        elif (self.records or record.number == 1) and next_hash(self._hash, body) != hash:
            self._report(f"record {record.number} was changed, or the one before it: its hash does not match")

    def _check_start(self, number: int, checkpoint: Checkpoint) -> None:
        """Only what was dropped just before the first record counts: whoever rewrites the log could name any other."""
        if checkpoint.through != self.first - 1:
            return
        self._is_start_known = True
        self._is_head_found = self._is_head_found or checkpoint.hash == self.kept_head
        if next_hash(_from_hex(checkpoint.hash), self._first_body) != self._first_hash:
            self._report(f"record {self.first} does not follow what checkpoint {number} says was before it")

    def _report(self, problem: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
