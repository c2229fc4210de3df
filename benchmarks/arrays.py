"""10,000 times `/bin/true` as one array, measured around `shunter run`, against `seq 10000 | xargs -P2 -n1 /bin/true`.

Shunter's tasks are durable and their output is captured; xargs keeps nothing. Run: python -m benchmarks.arrays
"""

from __future__ import annotations

from itertools import count

from benchmarks.cluster import LANES, SHUNTER, Cluster, cluster, seconds_of
from benchmarks.measure import Bar, Report, interleave, read_options

TASKS = 10_000
TASKS_SMALL = 500
RATIO = Bar(at_least=1.3)


def main() -> None:
    options = read_options(__doc__)
    report = Report("arrays", options)
    tasks = TASKS_SMALL if options.small else TASKS
    numbers = count()
    with cluster() as ours:
        contenders = {
            "shunter": lambda: tasks / run_array(ours, f"array-{next(numbers)}", tasks),
            "xargs": lambda: tasks / run_xargs(tasks),
        }
        rates = interleave(contenders, options.rounds)
    report.figure(f"{tasks:,} tasks with shunter run", "tasks/s", rates["shunter"])
    report.figure(f"{tasks:,} tasks with xargs -P{LANES}", "tasks/s", rates["xargs"])
    report.ratio("rate of an array", rates["shunter"], "xargs", rates["xargs"], RATIO)


def run_array(ours: Cluster, name: str, tasks: int) -> float:
    elapsed_s = seconds_of(SHUNTER, "run", "--name", name, "--count", str(tasks), "--cpu", "1", "--", "/bin/true")
    job = ours.job(name)
    assert (job["state"], job["counts"]) == ("succeeded", {"succeeded": tasks}), job
    return elapsed_s


def run_xargs(tasks: int) -> float:
    return seconds_of("sh", "-c", f"seq {tasks} | xargs -P{LANES} -n1 /bin/true")


if __name__ == "__main__":
    main()
