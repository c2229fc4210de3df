"""The contents of the home that version 0.1.0 wrote."""

from __future__ import annotations

from typing import Any

VERSION = "0.1.0"
SNAPSHOT, LAST = 81, 103  # versions of the log
SUBMITTED_MS = 1794829542057  # when most of the unfinished jobs were

# Job -> type, priority, labels, state, version of the spec, held; then, for each task set: group, command, node, shown
# indexes, and each task's state, attempt, restarts, times lost, node and exit code.
SLEEP, TRUE = ("sleep", "99999"), ("true",)
STUBBORN = ("sh", "-c", 'trap "" TERM; while true; do sleep 1; done')
RUNS = ("running", 1, 0, 0, 1, -1)
QUEUED = ("queued", 0, 0, 0, 0, -1)
UNFINISHED: dict[str, tuple[Any, ...]] = {
    "web": ("service", 50, {}, "running", 3, False, [
        ("main", ("sh", "-c", "exec sleep 92222"), 0, (0,), [RUNS]),
        ("main", ("sh", "-c", "exec sleep 92222"), 0, (2,), [("cancelled", 1, 0, 0, 1, 143)]),
        ("main", ("sh", "-c", "exec sleep 92222"), 0, (1,), [RUNS]),
        ("main", ("sh", "-c", "exec sleep 93333"), 0, (0,), [RUNS]),
    ]),
    "long": ("batch", 70, {"team": "film"}, "running", 1, True, [("main", SLEEP, 0, None, [RUNS, RUNS])]),
    "then": ("batch", 50, {}, "pending", 1, False, [("main", TRUE, 0, None, [("waiting", 0, 0, 0, 0, -1)])]),
    "flaky": ("batch", 50, {}, "running", 1, False, [
        ("main", ("sh", "-c", "exit 5"), 0, None, [("queued", 1, 1, 0, 0, 5)]),
    ]),
    "lbl": ("batch", 50, {}, "pending", 1, False, [("main", TRUE, 0, None, [QUEUED])]),
    "held": ("batch", 50, {}, "pending", 1, True, [("main", TRUE, 0, None, [QUEUED])]),
    "sys": ("system", 50, {}, "running", 1, False, [
        ("main", SLEEP, 1, (0,), [RUNS]),
        ("main", SLEEP, 2, (1,), [("running", 2, 0, 1, 2, -1)]),
    ]),
    "mv": ("batch", 50, {}, "running", 1, False, [("main", STUBBORN, 0, None, [("stopping", 1, 0, 0, 2, -1)])]),
    "bj.stay": ("batch", 50, {"batchjob": "stay"}, "running", 1, False, [("executor", SLEEP, 1, (0,), [RUNS])]),
    "slow": ("batch", 50, {}, "pending", 1, False, [("main", TRUE, 0, None, [QUEUED, QUEUED])]),
}  # fmt: skip

# Id, name@run, state, reason, exit code where there is one task, labels; then the states of the tasks of each task set.
OK, FAILED = "succeeded", "failed"
FINISHED: list[tuple[Any, ...]] = [
    (26, "arr@2", FAILED, "exit code 1", 1, {}, [[FAILED]]),
    (25, "nightly@1", OK, None, 0, {}, [[OK]]),
    (24, "ok@2", OK, None, 0, {}, [[OK]]),
    (21, "keyed@1", OK, None, 0, {}, [[OK]]),
    (20, "thumb@1", OK, None, 0, {}, [[OK]]),
    (19, "bj.hi@1", OK, None, None, {"batchjob": "hi"}, [[OK], [OK]]),
    (6, "dead@1", FAILED, "2 of 2 tasks failed; the first, task 0: exit code 4", None, {}, [[FAILED, FAILED]]),
    (5, "sums@1", OK, None, None, {}, [[OK, OK], [OK]]),
    (4, "arr@1", FAILED, "1 of 4 tasks failed; the first, task 2: exit code 1", None, {}, [[OK, OK, FAILED, OK]]),
    (3, "gone@1", "cancelled", "stopped by admin", 143, {}, [["cancelled"]]),
    (2, "bad@1", FAILED, "exit code 3", 3, {}, [[FAILED]]),
    (1, "ok@1", OK, None, 0, {"team": "film"}, [[OK]]),
]
