"""The progress of an array while it runs: a bar on a terminal, now and then a line elsewhere. Used by run and wait."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from shunter.cli.exit_codes import tell
from shunter.cli.render.tables import counted, on_terminal
from shunter.model.lifecycles import TASK
from shunter.model.resources import format_duration
from shunter.model.rest.views import FollowLine, JobView

LINE_EVERY_S = 5.0
ENDS = tuple(state.word for state in sorted(TASK.ends))


class Progress:
    """Shows counts as they come in, on standard error."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._began_s = time.monotonic()
        self._said_s = self._began_s
        self._bar: Any = None
        self._draws = on_terminal(sys.stderr)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def take(self, line: FollowLine) -> None:
        if line.progress is not None:
            self.show(line.progress.counts)

    def show(self, counts: dict[str, int]) -> None:
        if self._draws:
            self._draw(counts)
        elif time.monotonic() - self._said_s >= LINE_EVERY_S:
            self._said_s = time.monotonic()
            tell(f"{done(counts):,} of {self.count:,} done ({counted(counts)}), {self._rate(counts):,.0f} tasks/s")

    def summary(self, view: JobView) -> str:
        """One line about how it all went."""
        took_s = time.monotonic() - self._began_s
        rate = f"{self._rate(view.counts):,.0f} tasks/s"
        return f"{view.name} {view.state}: {counted(view.counts)} in {format_duration(took_s)}, {rate}"

    def _rate(self, counts: dict[str, int]) -> float:
        return done(counts) / max(time.monotonic() - self._began_s, 0.001)

    def _draw(self, counts: dict[str, int]) -> None:
        if self._bar is None:
            self._bar = _bar(self.count)
        self._bar.update(0, completed=done(counts), rate=f"{self._rate(counts):,.0f}/s", counts=counted(counts))


def done(counts: dict[str, int]) -> int:
    return sum(counts.get(state, 0) for state in ENDS)


def _bar(count: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counts]}"),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=count, rate="", counts="")
    bar.start()
    return bar
