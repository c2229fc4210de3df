"""Prints sentences for people: on a terminal, lines end between words. Called by commands, and by whatever prints
errors and notices."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from shunter.cli.output_mode import mode

if TYPE_CHECKING:
    from textwrap import TextWrapper

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
WIDTH_MIN = 12  # of the text behind an indentation, however narrow the terminal is


def on_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_text(text: str, first: str = "", indent: int = 0, stream: TextIO | None = None) -> None:
    """Print `first` and a text. On a terminal, lines end between words, and all but the first are indented. Lines of
    the text that begin with spaces keep them."""
    file = sys.stdout if stream is None else stream
    print(wrap(first + text, indent, file), file=file, flush=True)


def wrap(text: str, indent: int, stream: TextIO) -> str:
    """The text as it fits the width of a terminal; unchanged for other streams."""
    if not on_terminal(stream) or mode.is_wide:
        return text
    wrapper = _make_wrapper()
    lines: list[str] = []
    for line in text.split("\n"):
        margin = " " * (len(line) - len(line.lstrip(" ")) if lines else 0)
        wrapper.subsequent_indent = margin + " " * indent
        wrapper.width = max(_columns(stream), len(wrapper.subsequent_indent) + WIDTH_MIN)
        lines += wrapper.wrap(line) or [""]
    return "\n".join(lines)


def _make_wrapper() -> TextWrapper:
    from textwrap import TextWrapper  # here, because most commands print no long text

    class ColouredWrapper(TextWrapper):
        def _split(self, text: str) -> list[str]:
            return [_Word(word) for word in super()._split(text)]

    return ColouredWrapper(break_long_words=False, break_on_hyphens=False, replace_whitespace=False)


class _Word(str):
    """As long as it looks on a terminal: colours have no width."""

    __slots__ = ()

    def __len__(self) -> int:
        return super().__len__() - sum(map(len, _COLOUR.findall(self)))


def _columns(stream: TextIO) -> int:
    """COLUMNS, if it is set; else the width of the terminal."""
    if os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or shutil.get_terminal_size().columns
    except OSError:
        return shutil.get_terminal_size().columns
