"""The engine's limits and time settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from shunter.model.job.spec import LOST_MAX
from shunter.ports.store import Retention


@dataclass(frozen=True, slots=True)
class EngineSettings:
    inbox_max: int = 20_000  # requests queued for a round; beyond it callers get "busy"
    round_commands_max: int = 2_000  # per round, so that none takes long
    round_entries_max: int = 5_000  # of the reports that a round takes, if it takes more than one
    round_placements_max: int = 20_000
    jobs_max: int = 1_000_000  # unfinished
    tasks_max: int = 50_000_000  # of unfinished jobs
    templates_max: int = 10_000
    payload_bytes_max: int = 256 * 2**20  # of all unfinished jobs, standard input included
    queues_max: int = 1_000  # with rules
    keys_max: int = 100_000
    keys_age_s: float = 86_400.0
    lost_max: int = LOST_MAX
    quarantine_jobs: int = 3  # this many failing jobs on a node, while none succeeds there, quarantine it; 0: never
    quarantine_restarts: int = 5  # so often a worker may restart without its orders, while no task succeeds; 0: always
    quarantine_window_s: float = 60.0
    quarantine_share_max: float = 0.5  # of the nodes that are up
    order_ms: int = 100  # work that an order should hold
    depth_max: int = 1_024  # tasks outstanding per lane
    recall_after_ms: int = 250  # an order without progress for this long is recalled
    packed_tasks_max: int = 131_072  # of ended jobs, packed for history in a round; more are packed between rounds
    snapshot_bytes: int = 16 * 2**20  # of rounds since the last snapshot
    snapshot_rounds: int = 20_000
    snapshot_slice_jobs: int = 1_000  # written between two rounds, in a few milliseconds
    housekeeping_s: float = 60.0
    heartbeat_s: float = 1.0
    format_settle_s: float = 30.0  # a format is raised when all managers knew it for so long; one that restarts is away
    retention: Retention = field(default_factory=Retention)
