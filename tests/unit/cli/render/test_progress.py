"""The progress bar: what is done is never cut, however narrow the terminal is."""

from __future__ import annotations

import re
import sys

import pytest

from shunter.cli.render.progress import Progress
from tests.unit.cli.render.test_tables import on_terminal

COUNTS = {"queued": 1_511, "assigned": 357, "running": 4, "succeeded": 128}


@pytest.mark.parametrize(("width", "has_counts"), [(40, False), (60, False), (79, False), (80, True), (120, True)])
def test_the_bar_gives_way_to_what_is_done(width: int, has_counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw() -> None:
        monkeypatch.setattr(sys, "stderr", sys.stdout)
        with Progress(2_000) as progress:
            progress.show(COUNTS)

    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", on_terminal(draw, monkeypatch, width))
    assert re.search(r"128/2000 [0-9,]+/s 0:00:0", drawn), drawn
    assert ("1,511 queued" in drawn) == has_counts
