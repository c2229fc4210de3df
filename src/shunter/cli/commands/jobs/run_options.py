"""The options of `run`, in the sections of its help, and what of them has to be read here. Used by
`cli.commands.jobs.run` only."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.options import pairs
from shunter.model.errors import Invalid, Problem
from shunter.model.job.arrays import ENTRIES_MAX, ENTRY_SIZE_MAX, parse_entries
from shunter.model.job.spec import COUNT_MAX

LINES_SIZE_MAX = ENTRIES_MAX * 1024  # of a file of entries: most are far shorter than they may be
STDIN = "-"

Words = list[str] | None
Text = str | None


def _option(section: str, *names: str, metavar: str | None = None, help: str, **limits: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=section, show_default=False, **limits)


_WHAT, _CONTAINER, _OFTEN = "What to run", "In a container", "How often"
_NEEDS, _WHEN, _JOB = "What it needs, and where", "When, and what follows", "The job"

Env = Annotated[
    Words,
    _option(
        _WHAT, "--env", "-e", metavar="KEY[=VALUE]", help="A variable; KEY alone passes yours on. May be repeated."
    ),
]
Dir = Annotated[Text, _option(_WHAT, "--dir", "-w", metavar="FOLDER", help="Folder to run in. Default: this one.")]
Stdout = Annotated[
    Text,
    _option(_WHAT, "--stdout", metavar="PATH", help="File for its output; %j job, %g group, %i index, %a attempt."),
]
Stderr = Annotated[Text, _option(_WHAT, "--stderr", metavar="PATH", help="The same for its errors.")]
User = Annotated[Text, _option(_WHAT, "--user", metavar="NAME[:GROUP]", help="Run as this user; names or numbers.")]

Ports = Annotated[
    Words,
    _option(
        _WHAT,
        "--port",
        metavar="NAME[=[HOST:]PORT]",
        help="A port it serves, told in SHUNTER_PORT_NAME; the node's is HOST, or a free one. May be repeated.",
    ),
]

Image = Annotated[Text, _option(_CONTAINER, "--image", metavar="IMAGE", help="Run in a container of this image.")]
KeepEntrypoint = Annotated[
    bool,
    _option(
        _CONTAINER, "--keep-entrypoint", help="COMMAND is handed to the image's entry point, not run in its place."
    ),
]
Mounts = Annotated[
    Words,
    _option(_CONTAINER, "--mount", metavar="FROM:TO[:ro]", help="A folder of the node, or a volume. May be repeated."),
]
Network = Annotated[Text, _option(_CONTAINER, "--network", metavar="NAME", help="bridge (default), host, none, …")]

Count = Annotated[
    int | None, _option(_OFTEN, "--count", min=1, max=COUNT_MAX, metavar="N", help="Run it so many times.")
]
ArrayText = Annotated[
    Text,
    _option(_OFTEN, "--array", metavar="RANGES", help="Once for each index: 1-100, 0-99:3, 1-3,7. %4 is 4 at once."),
]
EachLine = Annotated[
    Text, _option(_OFTEN, "--each-line", metavar="FILE", help="Once for each line, in SHUNTER_ENTRY; - reads stdin.")
]
ParallelMax = Annotated[int | None, _option(_OFTEN, "--parallel-max", min=1, metavar="N", help="So many at once.")]
FailuresMax = Annotated[
    int | None, _option(_OFTEN, "--failures-max", min=1, metavar="N", help="So many failed tasks end the job.")
]
Gang = Annotated[bool, _option(_OFTEN, "--gang", help="All tasks start together, or none.")]

Cpu = Annotated[Text, _option(_NEEDS, "--cpu", metavar="CORES", help="Cores for each task: 2, 500m. Default: 1.")]
Memory = Annotated[
    Text, _option(_NEEDS, "--memory", metavar="AMOUNT", help="Memory for each task, which limits it: 256Mi.")
]
Disk = Annotated[Text, _option(_NEEDS, "--disk", metavar="AMOUNT", help="Disk for each task: 1Gi.")]
Gpu = Annotated[int | None, _option(_NEEDS, "--gpu", min=0, metavar="N", help="GPUs for each task.")]
Resources = Annotated[
    Words, _option(_NEEDS, "--resource", metavar="KEY=N", help="Any other: licence/matlab=1. May be repeated.")
]
Exclusive = Annotated[bool, _option(_NEEDS, "--exclusive", help="On nodes that nobody else uses meanwhile.")]
Datacenters = Annotated[Words, _option(_NEEDS, "--datacenter", metavar="NAME", help="Only there. May be repeated.")]
Constraints = Annotated[
    Words,
    _option(
        _NEEDS,
        "--constraint",
        metavar="RULE",
        help="Only on such nodes: \"node.labels.disk == 'ssd'\". May be repeated.",
    ),
]

Priority = Annotated[
    int | None, _option(_WHEN, "--priority", metavar="N", help="0 to 100, more is sooner. Default: 50.")
]
Queue = Annotated[Text, _option(_WHEN, "--queue", metavar="NAME", help="Queue to wait in. Default: default.")]
After = Annotated[
    Words,
    _option(
        _WHEN, "--after", metavar="JOB[:WHEN]", autocompletion=complete_jobs,
        help="When that job has succeeded (default), failed or finished. May be repeated.",
    ),
]  # fmt: skip
StartAt = Annotated[
    Text, _option(_WHEN, "--start-at", metavar="TIME", help="Not before: 2030-01-31T08:00, or 90m from now.")
]
Deadline = Annotated[Text, _option(_WHEN, "--deadline", metavar="TIME", help="Wanted by then; sooner ones go first.")]
Estimate = Annotated[
    Text, _option(_WHEN, "--estimate", metavar="TIME", help="How long a task runs, as far as you know: 10m.")
]
Timeout = Annotated[Text, _option(_WHEN, "--timeout", metavar="TIME", help="End a task after this time: 90s, 1h30m.")]
QueueTimeout = Annotated[
    Text, _option(_WHEN, "--queue-timeout", metavar="TIME", help="Give a task up that has waited so long.")
]
JobTimeout = Annotated[Text, _option(_WHEN, "--job-timeout", metavar="TIME", help="End the whole job after this time.")]
Restart = Annotated[
    Text, _option(_WHEN, "--restart", metavar="POLICY", help="never (default), on-failure, on-failure:5 or always.")
]
Retries = Annotated[
    int | None, _option(_WHEN, "--retries", min=0, metavar="N", help="The same as --restart on-failure:N.")
]
Hold = Annotated[bool, _option(_WHEN, "--hold", help="Not before it is released.")]

Name = Annotated[Text, _option(_JOB, "--name", metavar="NAME", help="Its name. Default: one made of the command.")]
Labels = Annotated[Words, _option(_JOB, "--label", metavar="KEY=VALUE", help="A label. May be repeated.")]
Detach = Annotated[bool, _option(_JOB, "--detach", "-d", help="Print the job's name and return.")]


def countables(gpu: int | None, words: Words) -> dict[str, int | str]:
    """Counts as numbers; what is none is left for the cluster to refuse, with all other problems."""
    found = {key: int(value) if value.isdecimal() else value for key, value in pairs(words, "--resource").items()}
    return found if gpu is None else {"gpu": gpu, **found}


def environment(words: Words) -> dict[str, str]:
    """KEY=VALUE as given, KEY with the value it has here."""
    found = {}
    for word in words or ():
        key, equals, value = word.partition("=")
        if not equals and key not in os.environ:
            raise Invalid([Problem("--env", "is not set here", word, f"write it as {word}=VALUE")])
        found[key] = value if equals else os.environ[key]
    return found


def timeouts(run: Text, queue: Text, job: Text) -> str | dict[str, str] | None:
    """A bare one limits the tasks."""
    if queue is None and job is None:
        return run
    return {word: text for word, text in (("run", run), ("queue", queue), ("job", job)) if text is not None}


def entries(file: Text) -> tuple[str, ...] | None:
    """The lines of a file. Raises Invalid."""
    if file is None:
        return None
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(LINES_SIZE_MAX + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(LINES_SIZE_MAX + 1)
        if len(data) > LINES_SIZE_MAX:
            raise ValueError(f"must be at most {LINES_SIZE_MAX:,} bytes")
        return parse_entries(data.decode("utf-8-sig"))
    except OSError as error:
        raise Invalid([Problem("--each-line", f"cannot be read: {error.strerror}", file)]) from error
    except UnicodeDecodeError as error:
        raise Invalid([Problem("--each-line", "is not UTF-8", file, "save it as UTF-8")]) from error
    except ValueError as error:
        fix = f"give one line for each task, of at most {ENTRY_SIZE_MAX:,} bytes"
        raise Invalid([Problem("--each-line", str(error), file, fix)]) from error
