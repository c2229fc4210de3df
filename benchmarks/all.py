"""Runs every benchmark, one after the other, each in its own process. Run: python -m benchmarks.all [--small]"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = (
    "arrays",
    "jobs",
    "latency",
    "planner",
    "order",
    "packing",
    "engine",
    "million",
    "huge_array",
    "stores",
    "keepers",
    "footprint",
    "containers",
    "slots",
    "stomp",
    "followers",
    "heartbeats",
    "observability",
    "limiter",
    "etags",
    "web_ui",
    "failover",
    "managers",
    "lab",
)


def main() -> int:
    here = Path(__file__).parent
    failed = [name for name in BENCHMARKS if run(name, here.parent) != 0]
    if failed:
        print(f"did not end well: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run(name: str, root: Path) -> int:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main())
