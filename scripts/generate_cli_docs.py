"""Writes docs/cli.md from the commands themselves. Called by `make docs`; a test compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.cli.registry import SECTIONS, build

if TYPE_CHECKING:
    from typer._click import Command

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
WIDTH = 100

INTRODUCTION = """\
# The command line

Made by `make docs` from the commands themselves; a test fails when the two differ. `shunter COMMAND --help` says the
same. `shunter --install-completion` makes the shell complete commands, options and the names of jobs and nodes.

**Which cluster.** The one that runs under `SHUNTER_HOME` (default: `$XDG_STATE_HOME/shunter`, or
`~/.local/state/shunter`), with its own token. `SHUNTER_URL` and `SHUNTER_TOKEN` name another one.
`SHUNTER_NAMESPACE` is the namespace where none is given by `-n`.

**Output.** Listings are tables for people; `--output json` and `--output yaml` give `{"items": [...]}` with the
fields of the REST interface. Verbs take them, too: what acts on one thing prints it as it is now (a run that was
started, with `--wait` as it ended); what acts on several prints `{"items": [...]}`, one for each that was affected,
also where the next one was refused; what is gone has `action: deleted`, and a purge says its `count`. Colours appear
on a terminal only, and never where `NO_COLOR` is set. What is said to the person (progress, warnings, errors) goes to
standard error.

**Exit codes.**

| code | meaning |
|---|---|
| 0 | done |
| 1 | the job failed or was cancelled, or has not ended in the time given |
| 2 | wrong use, or a refused request: every problem is listed with its field, its value and the fix |
| 3 | the cluster is not reachable, or stays unable to answer |
| 130 | interrupted by Ctrl-C |

`shunter run` of one task exits with the task's code, 128+N if signal N ended it, and with 125 for errors of its own.

**Names.** `NAME` is the newest run of a job, `NAME@3` its third, `id:17` a run by its number; `JOB/4` is the task with
index 4.
"""


def main() -> None:
    PAGE.write_text(cli_page(), encoding="utf-8")


def cli_page() -> str:
    return "\n".join([INTRODUCTION, *sections()])


def sections() -> Iterator[str]:
    for title, entries in SECTIONS.items():
        yield f"## {title}\n"
        for entry in entries:
            yield from commands(build(entry), f"shunter {entry.name}")


def commands(command: Command, path: str) -> Iterator[str]:
    """The command's help, if it does anything by itself, and that of its own commands."""
    below: dict[str, Any] = getattr(command, "commands", {})
    if not below or getattr(command, "invoke_without_command", False):
        context = command.context_class(command, info_name=path, terminal_width=WIDTH)
        yield f"### {path}\n\n```\n{command.get_help(context).rstrip()}\n```\n"
    for name, each in below.items():
        yield from commands(each, f"{path} {name}")


if __name__ == "__main__":
    main()
