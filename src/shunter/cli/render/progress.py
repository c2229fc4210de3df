"""Progress of a job: a bar on a terminal, otherwise a line every few seconds. Used by run and wait."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from shunter.cli.exit_codes import print_notice
from shunter.cli.output_mode import mode
from shunter.cli.render.tables import format_counts
from shunter.cli.text import on_terminal
from shunter.model.lifecycles import TASK
from shunter.model.resources import format_duration
from shunter.model.rest.job_views import FollowLine, JobView

LINE_EVERY_S = 5.0
COUNTS_WIDTH_MIN = 80  # of the terminal: a narrower one has no room for the counts by state next to the bar
ENDS = tuple(state.wire_name for state in sorted(TASK.terminal_states))


class Progress:
    """Shows counts on standard error as they arrive. A job with a `name` was submitted earlier: its rate is unknown."""

    def __init__(self, count: int, name: str = "") -> None:
        self.count = count
        self._title = f"{name}: " if name else ""
        self._shown: dict[str, int] = {}
        self._began_s = time.monotonic()
        self._last_line_s = self._began_s
        self._bar: Any = None
        self._has_bar = on_terminal(sys.stderr) and not mode.is_quiet

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on_line(self, line: FollowLine) -> None:
        if line.progress is not None:
            self.show(line.progress.counts)

    def show(self, counts: dict[str, int]) -> None:
        if self._has_bar:
            self._draw(counts)
        elif time.monotonic() - self._last_line_s >= LINE_EVERY_S and counts != self._shown:
            self._last_line_s, self._shown = time.monotonic(), counts
            rate = "" if self._title else f", {self._rate(counts):,.0f} tasks/s"
            print_notice(f"{self._title}{done_count(counts):,} of {self.count:,} done ({format_counts(counts)}){rate}")

    def summary(self, view: JobView) -> str:
        """One line about the result."""
        elapsed_s = time.monotonic() - self._began_s
        rate = "" if view.state == "cancelled" else f", {self._rate(view.counts):,.0f} tasks/s"
        return f"{view.name} {view.state}: {format_counts(view.counts)} in {format_duration(elapsed_s)}{rate}"

    def _rate(self, counts: dict[str, int]) -> float:
        """Cancelled tasks do not count: most of them never ran."""
        return (done_count(counts) - counts.get("cancelled", 0)) / max(time.monotonic() - self._began_s, 0.001)

    def _draw(self, counts: dict[str, int]) -> None:
        if self._bar is None:
            self._bar = _bar(self.count, self._title)
        rate = "" if self._title else f"{self._rate(counts):,.0f}/s"
        self._bar.update(0, completed=done_count(counts), rate=rate, counts=format_counts(counts))


def done_count(counts: dict[str, int]) -> int:
    return sum(counts.get(state, 0) for state in ENDS)


def _bar(count: int, title: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    console, whole = Console(stderr=True), Column(no_wrap=True)  # only the bar shrinks
    bar = Bar(
        *([TextColumn(title.rstrip(), markup=False)] if title else []),
        BarColumn(),
        MofNCompleteColumn(table_column=whole.copy()),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(table_column=whole.copy()),
        *([TextColumn("{task.fields[counts]}")] if console.width >= COUNTS_WIDTH_MIN else []),
        console=console,
        transient=True,
    )
    bar.add_task("", total=count, rate="", counts="")
    bar.start()
    return bar
