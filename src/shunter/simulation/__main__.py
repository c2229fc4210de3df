"""`python -m shunter.simulation --seed N [-v]` runs one seed; `--seeds A-B --jobs K` runs many, in K processes."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter

from shunter.simulation.world import Failed, Outcome, simulate

PROGRESS_EVERY = 500  # seeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m shunter.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one and print what it gave")
    parser.add_argument("--seeds", help="run a range of seeds, such as 0-5000 (the last one included)")
    parser.add_argument("--jobs", type=int, default=1, help="processes for a range of seeds")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every event of --seed")
    options = parser.parse_args()
    if options.seed is not None:
        return run_one(options.seed, options.verbose)
    if not options.seeds:
        parser.error("give --seed or --seeds")
    first, _, last = options.seeds.partition("-")
    return run_many(range(int(first), int(last or first) + 1), options.jobs)


def run_one(seed: int, verbose: bool) -> int:
    try:
        outcome = simulate(seed, echo=verbose)
    except Failed as failure:
        print(failure)
        return 1
    print(f"seed {seed}: {outcome.steps} steps in {outcome.virtual_s:.0f} virtual seconds, digest {outcome.digest}")
    print("happened:", _format_counts(outcome.events))
    print("committed:", _format_counts(outcome.changes))
    print("checked: ", _format_counts(outcome.checked))
    return 0


def run_many(seeds: range, jobs: int) -> int:
    """Every failing seed is printed whole; the command to run it again comes last."""
    started_s = time.monotonic()
    events: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    failed: list[int] = []
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for done, (seed, result) in enumerate(pool.imap_unordered(_run_seed, seeds, chunksize=8), start=1):
            if done % PROGRESS_EVERY == 0:
                print(f"{done} of {len(seeds)} seeds, {len(failed)} failed", flush=True)
            if isinstance(result, str):
                failed.append(seed)
                print(result, flush=True)
            else:
                events.update(result.events)
                changes.update(result.changes)
    print(f"{len(seeds)} seeds in {time.monotonic() - started_s:.0f} s, {len(failed)} failed")
    print("happened:", _format_counts(events))
    print("committed:", _format_counts(changes))
    for seed in sorted(failed):
        print(f"run again: python -m shunter.simulation --seed {seed} -v")
    return 1 if failed else 0


def _run_seed(seed: int) -> tuple[int, Outcome | str]:
    try:
        return seed, simulate(seed)
    except Failed as failure:
        return seed, str(failure)


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
