"""Writes docs/reference/cli.md from the commands themselves. Called by `make docs`; a test compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.cli.main import HELP_SETTINGS
from shunter.cli.registry import SECTIONS, build

if TYPE_CHECKING:
    from typer._click import Command

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
WIDTH = 100

INTRODUCTION = """\
# The command line

`make docs` generates this page from the commands; a test fails if they differ. `shunter COMMAND --help` prints the same
text. `shunter --install-completion` installs shell completion for commands, options, jobs and nodes.

**Cluster.** Commands use the cluster that runs under `SHUNTER_HOME` (default: `$XDG_STATE_HOME/shunter`, or
`~/.local/state/shunter`) and find its token there. To use another cluster, set `SHUNTER_URL` and `SHUNTER_TOKEN`,
or choose a context (`shunter context`). The first of these counts: `--context`, `SHUNTER_URL`, `SHUNTER_CONTEXT`,
`SHUNTER_HOME`, the current context, the default home.
If the cluster has [several managers](python-client.md#several-managers), give all their URLs, separated by commas.
`SHUNTER_NAMESPACE` sets the namespace for commands without `-n`.

**Output.** Listings print tables. `--output json` and `--output yaml` print `{"items": [...]}` with the fields of the
REST API. Commands that change something accept the same option:

- A command on one object prints its new state. With `--wait`, it prints the ended run.
- A command on several objects prints `{"items": [...]}`, one item for each thing it changed, even if a later one was
  refused.
- Deleted objects have `action: deleted`; a purge prints its `count`.

Progress, warnings and errors go to standard error. Colours appear only on a terminal, and never if `NO_COLOR` is set.

**Exit codes.**

| code | meaning |
|---|---|
| 0 | success |
| 1 | the job failed or was cancelled, or did not end within the given time |
| 2 | usage error, or the cluster refused the request; every problem is listed with its field, its value and the fix |
| 3 | the cluster cannot be reached, or did not become available in time |
| 130 | interrupted by Ctrl-C |
| 141 | the reader of the output has left, as in `shunter jobs \\| head -1` |

`shunter run` with one task exits with the task's exit code, with 128+N if signal N ended the task, and with 125 if
`run` itself failed.

**Names.** `NAME` is the newest run of a job, `NAME@3` is its third run, and `id:17` is the run with number 17. `JOB/4`
is the task with index 4.
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
    """The help of a command, if it does anything by itself, and that of its own commands. Hidden ones are left out:
    they are other words for commands that are listed."""
    below: dict[str, Any] = getattr(command, "commands", {})
    if not below or getattr(command, "invoke_without_command", False):
        names = HELP_SETTINGS["help_option_names"]
        context = command.context_class(command, info_name=path, terminal_width=WIDTH, help_option_names=names)
        yield f"### {path}\n\n```\n{command.get_help(context).rstrip()}\n```\n"
    for name, each in below.items():
        if not each.hidden:
            yield from commands(each, f"{path} {name}")


if __name__ == "__main__":
    main()
