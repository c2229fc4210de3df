"""The output of tasks as text: lines from chunks of bytes, and the last lines of a log. Called by both clients."""

from __future__ import annotations

from codecs import getincrementaldecoder

from shunter.model.rest.job_views import TaskView
from shunter.sdk.calls.requests import TaskKey

LAST_LINES_MAX = 20
LAST_LINES_CHARS_MAX = 4_000
LINE_CHARS_MAX = 2**20  # longer lines are cut into pieces of this length

_Decoder = getincrementaldecoder("utf-8")


class TextLines:
    """The lines of one log, each with its line break; bytes that are not UTF-8 are replaced."""

    def __init__(self) -> None:
        self._decoder = _Decoder(errors="replace")
        self._partial = ""

    def lines(self, data: bytes) -> list[str]:
        """The lines that these bytes complete."""
        *whole, self._partial = (self._partial + self._decoder.decode(data)).split("\n")
        lines = [f"{line}\n" for line in whole]
        while len(self._partial) >= LINE_CHARS_MAX:
            lines.append(self._partial[:LINE_CHARS_MAX])
            self._partial = self._partial[LINE_CHARS_MAX:]
        return lines

    def rest(self) -> list[str]:
        """The last line, if it has no line break."""
        rest = self._partial + self._decoder.decode(b"", final=True)
        return [rest] if rest else []


def last_lines(output: bytes) -> str:
    text = output[-4 * LAST_LINES_CHARS_MAX :].decode(errors="replace").rstrip()
    return "\n".join(text.splitlines()[-LAST_LINES_MAX:])[-LAST_LINES_CHARS_MAX:]


def task_key(task: TaskView) -> TaskKey:
    """What a task is called in requests: its name without the job."""
    return task.name.partition("/")[2]
