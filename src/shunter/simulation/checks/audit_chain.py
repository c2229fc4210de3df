"""The audit log, as it becomes durable: each commit has the records of its changes, and continues the chain, whoever
leads. Called by `simulation.checks.checkers`."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.model.audit.records import split_line
from shunter.model.audit.verification import ChainVerifier
from shunter.ports.store import Commit
from shunter.simulation.checks.reference_records import require


class AuditChain:
    def __init__(self) -> None:
        self._verifier = ChainVerifier()

    def on_durable(self, commit: Commit, changes: list[c.Change]) -> None:
        names: set[str] = set()
        for line in [] if commit.audit is None else commit.audit.body.splitlines():
            record = split_line(line)[0]
            names.update(record.names)
            self._verifier.add(line)
            is_here = record.version == commit.version
            require(is_here, f"record {record.number} names version {record.version} in that of {commit.version}")
        require(not self._verifier.problems, f"the audit log is broken: {self._verifier.problems}")
        for change in changes:
            if isinstance(change, c.AuditAdvanced):
                is_end = (change.number, change.hash.hex()) == (self._verifier.last, self._verifier.head)
                require(is_end, f"the state has record {change.number} as the last, not {self._verifier.last}")
            if isinstance(change, c.TenantSet):
                require(f"tenant {change.name}" in names, f"tenant {change.name} changed, in no record of its commit")
