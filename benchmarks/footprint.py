"""The cost of an idle Shunter: memory at rest, cold start, and the two most frequent commands.

Run: python -m benchmarks.footprint"""

from __future__ import annotations

import pty
import statistics
import subprocess
import time
from collections.abc import Callable

from benchmarks.cluster import LANES, SHUNTER, cluster, home, seconds_of
from benchmarks.measure import Bar, Report, interleave, read_options

SETTLE_S = 3.0  # after the first task, until the memory is read
AT_REST_MB = Bar(at_most=130)
COLD_START_S = Bar(at_most=1.8)  # with two commands, `up` and `run`
HELP_MS = Bar(at_most=150)
JOBS_MS = Bar(at_most=300)
COMMANDS_A_ROUND = 5  # of each; their median counts


def main() -> None:
    options = read_options(__doc__)
    report = Report("footprint", options)
    starts = interleave({"cold start": cold_start_s}, options.rounds)
    report.figure("cold start to the first finished task, by `up` and `run`", "s", starts["cold start"], COLD_START_S)
    with cluster() as ours:
        ours.shunter("run", "--", "/bin/true")
        time.sleep(0 if options.small else SETTLE_S)
        memory = interleave({"at rest": lambda: ours.pss_bytes() / 1e6}, options.rounds)
        report.figure(f"PSS at rest of {len(ours.processes())} processes", "MB", memory["at rest"], AT_REST_MB)
        times = interleave({"help": terminal_ms("--help"), "jobs": terminal_ms("jobs")}, options.rounds)
    report.figure("shunter --help on a terminal", "ms", times["help"], HELP_MS)
    report.figure("shunter jobs on a terminal", "ms", times["jobs"], JOBS_MS)


def cold_start_s() -> float:
    """From `up` on an empty home to the end of the first task."""
    with home():
        begun = time.perf_counter()
        seconds_of(SHUNTER, "up", "--detach", "--cpu", str(LANES))
        try:
            seconds_of(SHUNTER, "run", "--", "/bin/true")
            return time.perf_counter() - begun
        finally:
            seconds_of(SHUNTER, "down")


def terminal_ms(*words: str) -> Callable[[], float]:
    def measure() -> float:
        return statistics.median(run_on_terminal_s(*words) for _ in range(COMMANDS_A_ROUND)) * 1000

    return measure


def run_on_terminal_s(*words: str) -> float:
    """How long a command takes that believes a person is watching."""
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0), open(theirs, "wb", buffering=0) as terminal:
        begun = time.perf_counter()
        subprocess.run([SHUNTER, *words], check=True, stdin=terminal, stdout=terminal, stderr=terminal)
        return time.perf_counter() - begun


if __name__ == "__main__":
    main()
