"""Prove that a change alters no decision: hash all rounds that simulated clusters commit, and compare.

`python scripts/hash_rounds.py > before.txt` on the commit before, `python scripts/hash_rounds.py --compare before.txt`
on the commit after. Prints a line per seed (rounds, hash of their bodies) and, last, one hash over all lines."""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
from pathlib import Path

from shunter.ports.store import Commit
from shunter.simulation import world
from shunter.simulation.runtime.manager import SimulatedManager

SEEDS = "0-500,1000000-1000200"  # what `make sim-ci` runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default=SEEDS, help=f"ranges, the last seed included (default {SEEDS})")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="an earlier output; exit 1 where a seed differs")
    options = parser.parse_args()
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        lines = []
        for line in pool.imap(hash_seed, parse_seeds(options.seeds), chunksize=8):
            print(line, flush=True)
            lines.append(line)
    print(f"all {len(lines)} seeds: {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}")
    return compare(lines, options.compare) if options.compare else 0


def parse_seeds(ranges: str) -> list[int]:
    seeds: list[int] = []
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def hash_seed(seed: int) -> str:
    """Run one simulated cluster and hash the body of every round that reached its disk."""
    digest, rounds = hashlib.sha256(), 0
    note_durable = world.World.durable

    def durable(self: world.World, manager: SimulatedManager, commit: Commit, is_late: bool) -> None:
        nonlocal rounds
        rounds += 1
        digest.update(len(commit.body).to_bytes(8, "big") + commit.body)
        note_durable(self, manager, commit, is_late)

    world.World.durable = durable  # type: ignore[method-assign]
    try:
        world.simulate(seed)
    except world.Failed as failure:
        print(failure, file=sys.stderr)
        return f"{seed} failed after {rounds} rounds"
    finally:
        world.World.durable = note_durable  # type: ignore[method-assign]
    return f"{seed} {rounds} {digest.hexdigest()}"


def compare(lines: list[str], earlier: Path) -> int:
    """Seeds that the earlier output lacks are not compared."""
    before = {line.partition(" ")[0]: line for line in earlier.read_text(encoding="utf-8").splitlines()}
    seeds = [line.partition(" ")[0] for line in lines]
    differing = [seed for seed, line in zip(seeds, lines, strict=True) if before.get(seed, line) != line]
    compared = sum(seed in before for seed in seeds)
    print(f"compared {compared} seeds with {earlier}: {len(differing)} differ {' '.join(differing)}".rstrip())
    return 1 if differing or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
