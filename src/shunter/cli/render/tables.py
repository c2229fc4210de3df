"""Prints tables for people, and JSON or YAML for programs. Colours only on a terminal.

This does not use rich, because importing its tables takes as long as a short command.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import msgspec

from shunter.cli.options import Format
from shunter.cli.output_mode import mode
from shunter.cli.text import on_terminal, print_text

MEASURED_ROWS_MAX = 1_000  # column widths follow these rows, so that a million rows can stream
GAP = "  "
NAME_TITLES = ("NAME", "TASK", "NUMBER", "ID")  # of the column that a quiet listing prints
LAST_WIDTH_MIN = 12  # of the last column, which is the first to be cut
FACT_WIDTH_MIN = 10  # of the labels of facts, so that most objects align alike
DELETED = "deleted"  # `action` of a deleted object, like created and configured in `shunter apply`
COLOURS = {
    "ready": "32", "succeeded": "32", "running": "36", "assigned": "36", "failed": "31", "down": "31",
    "cancelled": "33", "stopping": "33", "suspect": "33", "draining": "33", "drained": "33", "lost": "33",
    "pending": "2", "queued": "2", "waiting": "2", "paused": "33", "scheduled": "36", "dispatchable": "36",
    "SUCCESS": "32", "FREE": "32", "RUNNING": "36", "OCCUPIED": "36", "IN_PROGRESS": "33", "RESERVED": "33",
    "ERROR": "31", "INITIAL": "2", "ReadyState": "32", "RunningState": "36", "CompletedState": "32",
    "FinishedState": "32", "FailedState": "31", "FailedSubmissionState": "31", "PendingDeletion": "33",
    "InQueueState": "2", "AcquireState": "2", "crashing": "31", "degraded": "33", "stalled": "33",
}  # fmt: skip
Report = Callable[[str, Callable[[], Any]], None]  # the sentence, and a function that makes the document
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Column:
    """On a narrow terminal, columns with a `drop` are left out, the highest first. The cells of one with a `joined_by`
    then follow those of the column before it, after this text. Only wide tables have a column that `is_extra`."""

    title: str
    right: bool = False
    drop: int = 0
    is_extra: bool = False
    joined_by: str = ""


def coloured(word: str, text: str | None = None) -> str:
    """`text` in the colour of a state, if the terminal has colours."""
    text = word if text is None else text
    if word not in COLOURS or os.environ.get("NO_COLOR") or not on_terminal(sys.stdout):
        return text
    return f"\x1b[{COLOURS[word]}m{text}\x1b[0m"


def print_document(value: Any, output: Format) -> None:
    """One object as JSON or YAML."""
    plain = msgspec.to_builtins(value)
    if output is Format.JSON:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n")
    else:
        sys.stdout.write(yaml_text(plain))


def yaml_text(plain: Any) -> str:
    """YAML that our own reader, which follows YAML 1.2, reads back unchanged. The library quotes only text that is a
    number in YAML 1.1."""
    import yaml

    from shunter.model.files.yaml_reader import parse_plain_scalar

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def write_text(dumper: Any, text: str) -> Any:
        style = None if isinstance(parse_plain_scalar(text), str) else "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, write_text)
    text: str = yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return text


def print_items(items: Iterable[Any], output: Format) -> None:
    """A list as JSON or YAML: `{"items": [...]}`."""
    print_document({"items": list(items)}, output)


@contextmanager
def report_each(output: Format) -> Iterator[Report]:
    """For commands that act on several objects: print a sentence for each as soon as it is done; as JSON or YAML, print
    one list at the end, even if a later object was rejected."""
    done: list[Any] = []

    def report(sentence: str, document: Callable[[], Any]) -> None:
        if output is Format.TABLE:
            print_text(sentence)
        else:
            done.append(document())

    try:
        yield report
    except BaseException:
        if done:
            print_items(done, output)
        raise
    if output is not Format.TABLE:
        print_items(done, output)


def print_result(sentence: str, document: Any, output: Format) -> None:
    """Print the result of a command that acts on one object."""
    if output is Format.TABLE:
        print_text(sentence)
    else:
        print_document(document, output)


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]], state_column: int | None = None) -> int:
    """Print rows under titles. Returns the number of rows. On a terminal, no line is longer than the terminal is wide:
    less important columns are left out, and long cells end in an ellipsis. With --quiet, print only the names."""
    remaining = iter(rows)
    names = [number for number, column in enumerate(columns) if column.title in NAME_TITLES]
    if mode.is_quiet and names:
        return _print_names(row[names[0]] for row in remaining)
    first = [_clean(row) for row in islice(remaining, MEASURED_ROWS_MAX)]
    line_max = shutil.get_terminal_size().columns if on_terminal(sys.stdout) and not mode.is_wide else None
    titles = [column.title for column in columns]
    layout = _lay_out(columns, titles, first, line_max)
    joined = [number for number in _joined(columns) if number not in {shown for shown, _, _ in layout}]
    _print_row(titles, layout, line_max is not None)
    count = 0
    for row in chain(first, map(_clean, remaining)):
        for number in joined if line_max is not None else ():
            row[number - 1] = _join(columns, row, number)
        _print_row(row, layout, line_max is not None, state_column)
        count += 1
    return count


def _lay_out(
    columns: Sequence[Column], titles: Sequence[str], rows: Sequence[Sequence[str]], line_max: int | None
) -> list[tuple[int, int, bool]]:
    """The number of each column to print, its width, and whether it is right-aligned."""
    widths = [max(map(len, cells)) for cells in zip(titles, *rows, strict=False)]
    shown = [number for number, column in enumerate(columns) if mode.is_wide or not column.is_extra]
    if line_max is not None:
        joined = {n: max((len(_join(columns, row, n)) for row in rows), default=0) for n in _joined(columns)}
        _fit(columns, widths, shown, line_max, joined)
    return [(number, widths[number], columns[number].right) for number in shown]


def _joined(columns: Sequence[Column]) -> list[int]:
    return [number for number, column in enumerate(columns) if column.joined_by]


def _join(columns: Sequence[Column], row: Sequence[str], number: int) -> str:
    return f"{row[number - 1]}{columns[number].joined_by}{row[number]}"


def _print_row(
    row: Sequence[str], layout: Sequence[tuple[int, int, bool]], is_cut: bool, state_column: int | None = None
) -> None:
    cells = []
    for number, width, is_right in layout:
        text = cut(row[number], width) if is_cut else row[number]
        cell = text.rjust(width) if is_right else text.ljust(width)
        cells.append(coloured(row[number], cell) if number == state_column else cell)
    sys.stdout.write(GAP.join(cells).rstrip() + "\n")


def _print_names(names: Iterable[str]) -> int:
    count = 0
    for count, name in enumerate(names, 1):  # noqa: B007  # it counts
        sys.stdout.write(_printable(name) + "\n")
    return count


def _fit(
    columns: Sequence[Column], widths: list[int], shown: list[int], line_max: int, joined: Mapping[int, int]
) -> None:
    """Make `widths` of the columns in `shown` fit, or remove columns. The last one gives way first, then the widest.
    `joined`: the width that the column before this one has without it."""

    def excess(last_max: int | None = None) -> int:
        last = widths[shown[-1]] if last_max is None else min(widths[shown[-1]], last_max)
        return sum(widths[number] for number in shown[:-1]) + last + len(GAP) * (len(shown) - 1) - line_max

    while excess(LAST_WIDTH_MIN) > 0 and any(columns[number].drop for number in shown):
        dropped = max(shown, key=lambda number: columns[number].drop)
        shown.remove(dropped)
        if dropped in joined:
            widths[dropped - 1] = max(widths[dropped - 1], joined[dropped])
    widths[shown[-1]] = max(min(widths[shown[-1]], LAST_WIDTH_MIN), widths[shown[-1]] - max(0, excess()))
    while excess() > 0 and max(widths[number] for number in shown) > 1:
        widths[max(shown, key=lambda number: widths[number])] -= 1


def cut(text: str, width: int) -> str:
    """`text` with at most `width` characters; what is cut ends in an ellipsis."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print one object, one line per fact. A fact named `state` starts with a state."""
    known = [(word, fact) for word, fact in facts if fact]
    width = max([FACT_WIDTH_MIN, *(len(word) for word, _ in known)])
    print(title)
    for word, fact in known:
        text = _printable(fact)
        if word == "state":
            state, colon, reason = text.partition(":")
            text = coloured(state) + colon + reason
        label = f"  {word:<{width}} "
        print_text(text, label, len(label))


def _clean(row: Sequence[str]) -> list[str]:
    return [_printable(cell) for cell in row]


def _printable(text: str) -> str:
    """Replace control characters, so that commands and labels of users cannot move the cursor or break a line."""
    return _UNPRINTABLE.sub("?", text)


def age(at: str | None, now: datetime | None = None) -> str:
    """The time since `at`, in one unit: 12s, 3m, 5h, 2d."""
    if at is None:
        return "-"
    seconds = max(0, int(((now or datetime.now(UTC)) - datetime.fromisoformat(at)).total_seconds()))
    for unit_s, unit, until_s in ((1, "s", 120), (60, "m", 7200), (3600, "h", 172800)):
        if seconds < until_s:
            return f"{seconds // unit_s}{unit}"
    return f"{seconds // 86400}d"


def format_local_time(at: str) -> str:
    """The time of day in the local time zone; with the date if it is not today."""
    local = datetime.fromisoformat(at).astimezone()
    is_today = local.date() == datetime.now().astimezone().date()
    return f"{local:%H:%M:%S}" if is_today else f"{local:%H:%M:%S on %Y-%m-%d}"


def time_until(at: str | None, now: datetime | None = None) -> str:
    """The time until `at`, in one unit."""
    if at is None:
        return "-"
    ahead = datetime.fromisoformat(at) - (now or datetime.now(UTC))
    return age((datetime.now(UTC) - ahead).isoformat())


def elapsed_s(started_at: str | None, ended_at: str | None) -> float | None:
    """Seconds between two times; up to now if it has not ended."""
    if started_at is None:
        return None
    end = datetime.fromisoformat(ended_at) if ended_at else datetime.now(UTC)
    return max(0.0, (end - datetime.fromisoformat(started_at)).total_seconds())


def plural(count: int, word: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def format_counts(counts: dict[str, int]) -> str:
    """`3 running, 97 queued`."""
    return ", ".join(f"{number:,} {state}" for state, number in counts.items()) or "none"
