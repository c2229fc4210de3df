"""`make lab-reproduce`: run policies on public traces, and compare with published results.

Traces are not part of the project. They are looked for in the folder SHUNTER_TRACES; each must have the SHA-256 that is
given here. The exit code is 1 if a value differs by more than 1 %, or if nothing could be compared."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from shunter.app.lab import run_lab
from shunter.lab.experiment import EXACT, GIVEN, Options
from shunter.lab.readers.lines import hash_file

TOLERANCE = 0.01


@dataclass(frozen=True)
class Published:
    """A mean bounded slowdown that others have published."""

    file: str
    sha256: str
    policy: str
    estimates: str
    value: float


KTH = "KTH-SP2-1996-2.swf.gz", "8fb2e294a5500ec0a7b16591e25ad7248895854d810ca8d922489e675507082d"
PUBLISHED = (
    Published(*KTH, "easy", GIVEN, 92.58),
    Published(*KTH, "easy-sjbf", GIVEN, 69.41),
    Published(*KTH, "easy", EXACT, 71.72),
    Published(*KTH, "easy-sjbf", EXACT, 49.85),
)


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    folder, compared, differ = os.environ.get("SHUNTER_TRACES", ""), 0, 0
    for each in PUBLISHED:
        path = Path(folder) / each.file
        if not folder or not path.is_file():
            print(f"skipped: {each.file} is not in SHUNTER_TRACES ({folder or 'not set'})")
        elif hash_file(path) != each.sha256:
            print(f"skipped: {each.file} has another SHA-256 than {each.sha256}")
        else:
            compared += 1
            differ += not compare(path, each)
    print(f"{compared} of {len(PUBLISHED)} values compared, {differ} differ by more than {TOLERANCE:.0%}")
    return 1 if differ or not compared else 0


def compare(path: Path, published: Published) -> bool:
    """Whether our value is close enough."""
    began_s = time.monotonic()
    options = Options(policies=(published.policy,), estimates=published.estimates)
    figures = run_lab(path, options, lambda _: None).figures[published.policy]
    value = figures.slowdown.mean
    difference = value / published.value - 1
    print(
        f"{published.file} {published.policy} ({published.estimates} estimates), {figures.jobs:,} jobs: "
        f"published {published.value:.2f}, here {value:.2f} ({difference:+.2%}) in {time.monotonic() - began_s:.0f} s",
        flush=True,
    )
    return abs(difference) <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
