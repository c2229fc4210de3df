"""One campaign: load and faults together, then calm, then the checks. docs/operations/reliability.md describes it.

SHUNTER_CHAOS_SECONDS sets how long faults are injected (60), SHUNTER_CHAOS_SEED repeats the choices of a run, not its
timing."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Set
from contextlib import ExitStack
from pathlib import Path

import pytest

from shunter import Client
from tests.chaos import checks
from tests.chaos.answers import Reader, counting_client, unexpected
from tests.chaos.faults import FaultTarget, inject_faults
from tests.chaos.load import PATIENCE_S, Load
from tests.e2e.cluster import Cluster

SECONDS = float(os.environ.get("SHUNTER_CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("SHUNTER_CHAOS_SEED") or random.SystemRandom().randrange(2**32))
SETTLE_MAX_S = 300.0
# Attempts are lost by the dozen here, which must not fail a task. Jobs fail on purpose; that is not their node's fault.
LIMITS = "[limits]\nlost_max = 255\nquarantine_jobs = 0\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + SETTLE_MAX_S)]


def run_campaign(
    name: str, cluster: Cluster, target: FaultTarget, folder: Path, absent: Set[str] = frozenset()
) -> Reader:
    """Nodes that are `absent` need not be ready afterwards. Returns the reader, which knows how reads were answered."""
    answers: Counter[str] = Counter()
    reader = Reader(cluster)
    with ExitStack() as stack:

        def connect() -> Client:
            return stack.enter_context(counting_client(cluster, answers, PATIENCE_S))

        load = Load(connect, folder, SEED)
        load.start()
        reader.start()
        try:
            faults = inject_faults(target, SECONDS, SEED + 1)
        finally:
            load.stop()
            reader.stop()
        print_figures(name, faults=sum(faults.values()), acknowledged=len(load.acknowledged), **faults)
        client = connect()
        checks.expect_all_ended(client, load.acknowledged)
        checks.expect_no_job_twice(client, load.acknowledged)
        checks.expect_every_end_once(client, load.acknowledged)
        checks.expect_no_attempt_twice(load.ends())
        checks.expect_one_attempt_at_a_time(load.beats())
        checks.expect_successes_really_ran(client, load.acknowledged, load.ends())
        checks.expect_capacity_respected(client, load.spans())
        checks.expect_nothing_reserved(cluster, absent)
        print_figures(f"{name}, answers by status", client=dict(answers), reads=dict(reader.answers))
        assert not unexpected(answers + reader.answers), reader.texts[-20:]
    return reader


def print_figures(name: str, **figures: object) -> None:
    """One line, which `pytest -s` shows, and pytest prints for a test that fails."""
    print(f"\n{name}: SHUNTER_CHAOS_SEED={SEED} {json.dumps(figures)}")
