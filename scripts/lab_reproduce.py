"""`make lab-reproduce`: run policies on public traces, and compare with published results.

Traces are not part of the project. They are looked for in the folder SHUNTER_TRACES; each must have the SHA-256 that is
given here, if one is. The exit code is 1 if a value differs too much, or if nothing could be compared."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np

from scripts import lab_rlscheduler
from shunter.app.lab import load_trace, run_lab
from shunter.lab.experiment import EXACT, GIVEN, LEARNT, Options
from shunter.lab.readers.detect import read_trace
from shunter.lab.readers.lines import hash_file
from shunter.lab.run import run_policy
from shunter.lab.trace import Trace
from shunter.lab.workload import GPU_MILLI
from shunter.planning.policies import Catalogue

SLOWDOWN_TOLERANCE = 0.01  # of the published value
GPU_TOLERANCE = 1.0  # percentage points
COVERAGE_TOLERANCE = 5.0  # percentage points
INFLATION = 1.3  # of the GPUs of all nodes: pods are repeated until so many are asked for
ALL_STAY_S = 1e6  # no pod ends before all have arrived
SEEDS = 10

KTH = "KTH-SP2-1996-2.swf.gz", "8fb2e294a5500ec0a7b16591e25ad7248895854d810ca8d922489e675507082d"
OPENB = "alibaba-openb-2023.tar.gz", "7277af54314caddc20e551ae14185651cba5c2502a397897d86d9c671bdb3f68"

UNKNOWN_SHA256 = ""  # nobody has published one: the file is taken as it is, and its hash is printed
LUBLIN_1 = "lublin_256.swf", UNKNOWN_SHA256
LUBLIN_2 = "lublin_256_new2.swf", UNKNOWN_SHA256


@dataclass(frozen=True)
class Published:
    """A value that others have published, and how to compute it here."""

    file: str
    sha256: str
    name: str
    value: float
    tolerance: float
    compute: Callable[[Path, int], float]  # from the trace and a number of seeds
    is_bound: bool = False  # a goal of our own: the value must not be above it


def mean_slowdown(policy: str, estimates: str, path: Path, _seeds: int) -> float:
    options = Options(policies=(policy,), estimates=estimates)
    return run_lab(path, options, lambda _: None).figures[policy].slowdown.mean


def interval_coverage(policy: str, path: Path, _seeds: int) -> float:
    """Percent of the last jobs that had to wait whose start was in its 80 % interval."""
    options = Options(policies=(policy,), start_estimates=True)
    quality = run_lab(path, options, lambda _: None).start_quality[policy]
    assert quality is not None, "jobs wait in this trace"
    width_s = f"{quality.width_mean_s:,.0f} s, median {quality.width_median_s:,.0f} s"
    print(f"{policy}: mean width of the intervals of {quality.jobs:,} jobs that had to wait: {width_s}")
    return 100 * quality.covered


def sampled_slowdown(policy: str, backfills: bool, path: Path, _seeds: int) -> float:
    return lab_rlscheduler.mean_slowdown(read_trace(path), policy, backfills=backfills)


def gpu_allocated(policy: str, path: Path, seeds: int) -> float:
    """Percent of the GPUs that pods hold when pods have arrived that ask for all of them: the mean of several seeds."""
    return fmean(_gpu_allocated(policy, path, seed) for seed in range(seeds))


def _gpu_allocated(policy: str, path: Path, seed: int) -> float:
    trace, nodes = load_trace(path, None)
    total = nodes.total(GPU_MILLI)
    arriving = _arrivals(trace, total, seed)
    result = run_policy(arriving, Catalogue().build(policy), nodes.hellos, is_divided=True)
    is_placed = result.start_s <= arriving.submit_s[-1]
    return 100 * int(arriving.gpu_milli[is_placed].sum()) / total


def _arrivals(trace: Trace, total: int, seed: int) -> Trace:
    """Pods in random order, one per second; some occur twice. None ends before the last has arrived."""
    rng, rows, asked = np.random.default_rng(seed), list(range(len(trace))), int(trace.gpu_milli.sum())
    while asked < INFLATION * total:
        rows.append(int(rng.integers(0, len(trace))))
        asked += int(trace.gpu_milli[rows[-1]])
    order = rng.permutation(np.array(rows))
    order = order[: int(np.searchsorted(trace.gpu_milli[order].cumsum(), total)) + 1]
    at_s = np.arange(len(order), dtype=np.float64)
    number = np.arange(1, len(order) + 1)
    return replace(trace.select(order), number=number, submit_s=at_s, run_s=ALL_STAY_S - at_s, estimate_s=0 * at_s)


def _slowdown(policy: str, estimates: str, value: float) -> Published:
    name = f"{policy} ({estimates} estimates), mean bounded slowdown"
    return Published(*KTH, name, value, SLOWDOWN_TOLERANCE * value, partial(mean_slowdown, policy, estimates))


LEARNT_MAX = Published(
    *KTH, "easy-sjbf (learnt estimates), mean bounded slowdown: at most", 66.0, 0.0,
    partial(mean_slowdown, "easy-sjbf", LEARNT), is_bound=True,
)  # fmt: skip


def _gpus(policy: str, value: float) -> Published:
    return Published(*OPENB, f"{policy}, % of GPUs allocated", value, GPU_TOLERANCE, partial(gpu_allocated, policy))


def _rlscheduler(trace: tuple[str, str], plain: tuple[float, ...], backfilled: tuple[float, ...]) -> list[Published]:
    """A row of RLScheduler's table, without and with backfilling."""
    return [
        Published(
            *trace,
            f"RLScheduler's {policy}{' with backfilling' if backfills else ''}, mean bounded slowdown",
            value,
            SLOWDOWN_TOLERANCE * value,
            partial(sampled_slowdown, policy, backfills),
        )
        for backfills, values in ((False, plain), (True, backfilled))
        for policy, value in zip(lab_rlscheduler.ORDERS, values, strict=True)
    ]


PUBLISHED = (
    _slowdown("easy", GIVEN, 92.58),
    _slowdown("easy-sjbf", GIVEN, 69.41),
    _slowdown("easy", EXACT, 71.72),
    _slowdown("easy-sjbf", EXACT, 49.85),
    LEARNT_MAX,
    Published(
        *KTH, "easy, % of starts in their 80 % interval", 80.0, COVERAGE_TOLERANCE, partial(interval_coverage, "easy")
    ),
    _gpus("random-fit", 86.3),
    _gpus("best-fit", 92.9),
    _gpus("fgd", 95.2),
    *_rlscheduler(LUBLIN_1, (7273.77, 277.35, 258.37), (235.82, 73.31, 75.07)),
    *_rlscheduler(LUBLIN_2, (7842.47, 787.89, 698.34), (247.61, 91.99, 148.25)),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="random orders of pods; the mean of them is compared")
    parser.add_argument("--only", default="", help="compare only values whose description contains this text")
    arguments = parser.parse_args()
    folder, compared, differ = os.environ.get("SHUNTER_TRACES", ""), 0, 0
    chosen = [each for each in PUBLISHED if arguments.only in f"{each.file} {each.name}"]
    for each in chosen:
        path = Path(folder) / each.file
        sha256 = hash_file(path) if folder and path.is_file() else None
        if sha256 is None:
            expected = each.sha256 or "unknown"
            print(f"skipped: {each.file} (SHA-256 {expected}) is not in SHUNTER_TRACES ({folder or 'not set'})")
        elif each.sha256 and sha256 != each.sha256:
            print(f"skipped: {each.file} has another SHA-256 than {each.sha256}")
        else:
            if not each.sha256:
                print(f"{each.file}: nobody has published its SHA-256; this one has {sha256}")
            compared += 1
            differ += not compare(path, each, arguments.seeds)
    print(f"{compared} of {len(chosen)} values compared, {differ} differ too much")
    return 1 if differ or not compared else 0


def compare(path: Path, published: Published, seeds: int) -> bool:
    """Whether our value is close enough."""
    began_s = time.monotonic()
    value = published.compute(path, seeds)
    difference = value - published.value
    is_close = difference <= 0 if published.is_bound else abs(difference) <= published.tolerance
    print(
        f"{published.file} {published.name}: published {published.value:.2f}, here {value:.2f} ({difference:+.2f}; "
        f"{'within' if is_close else 'MORE THAN'} {published.tolerance:.2f}) in {time.monotonic() - began_s:.0f} s",
        flush=True,
    )
    return is_close


if __name__ == "__main__":
    sys.exit(main())
