"""The options of `run`, in the sections of its help, and functions that parse them. Used by `cli.commands.jobs.run`."""

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

LINES_SIZE_MAX = ENTRIES_MAX * 1024  # of the file of --each-line
ENV_FILE_SIZE_MAX = 2**20
STDIN = "-"

Words = list[str] | None
Text = str | None


def _option(section: str, *names: str, metavar: str | None = None, help: str, **limits: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=section, show_default=False, **limits)


_WHAT, _CONTAINER, _OFTEN = "Command", "Container", "Arrays and gangs"
_NEEDS, _WHEN, _JOB = "Resources and placement", "Order, time limits and restarts", "Job"

Env = Annotated[
    Words,
    _option(
        _WHAT,
        "--env",
        "-e",
        metavar="KEY[=VALUE]",
        help="Environment variable; KEY alone copies your value. May be repeated.",
    ),
]
EnvFile = Annotated[
    Words,
    _option(
        _WHAT,
        "--env-file",
        metavar="FILE",
        help="File of KEY=VALUE or export KEY=VALUE lines. Quotes around a whole value are removed; --env wins. May be "
        "repeated.",
    ),
]
Dir = Annotated[
    Text, _option(_WHAT, "--dir", "-w", metavar="DIRECTORY", help="Working directory. Default: the current one.")
]
Stdout = Annotated[
    Text,
    _option(_WHAT, "--stdout", metavar="PATH", help="File for stdout; %j job, %g group, %i index, %a attempt."),
]
Stderr = Annotated[Text, _option(_WHAT, "--stderr", metavar="PATH", help="File for stderr, with the same patterns.")]
NoStdin = Annotated[bool, _option(_WHAT, "--no-stdin", help="Do not read standard input, as in loops and CI jobs.")]
User = Annotated[
    Text, _option(_WHAT, "--user", metavar="NAME[:GROUP]", help="User and group to run as; names or numbers.")
]

Ports = Annotated[
    Words,
    _option(
        _WHAT,
        "--port",
        metavar="NAME[=[HOST:]PORT]",
        help="Port that the task serves, passed in SHUNTER_PORT_NAME. HOST is the port on the node; default: a free "
        "one. May be repeated.",
    ),
]

Image = Annotated[Text, _option(_CONTAINER, "--image", metavar="IMAGE", help="Run in a container of this image.")]
KeepEntrypoint = Annotated[
    bool,
    _option(
        _CONTAINER, "--keep-entrypoint", help="Pass COMMAND to the entry point of the image instead of replacing it."
    ),
]
Mounts = Annotated[
    Words,
    _option(
        _CONTAINER, "--mount", metavar="FROM:TO[:ro]", help="Directory of the node or volume to mount. May be repeated."
    ),
]
Network = Annotated[
    Text,
    _option(_CONTAINER, "--network", metavar="NAME", help="Network of the container: bridge (default), host, none, …"),
]

Count = Annotated[int | None, _option(_OFTEN, "--count", min=1, max=COUNT_MAX, metavar="N", help="Number of tasks.")]
ArrayText = Annotated[
    Text,
    _option(
        _OFTEN,
        "--array",
        metavar="RANGES",
        help="One task per index: 1-100, 0-99:3, 1-3,7. %4 means at most 4 at once.",
    ),
]
EachLine = Annotated[
    Text,
    _option(_OFTEN, "--each-line", metavar="FILE", help="One task per line, passed in SHUNTER_ENTRY; - reads stdin."),
]
ParallelMax = Annotated[
    int | None, _option(_OFTEN, "--parallel-max", min=1, metavar="N", help="Maximum number of tasks that run at once.")
]
FailuresMax = Annotated[
    int | None,
    _option(_OFTEN, "--failures-max", min=1, metavar="N", help="Number of failed tasks after which the job fails."),
]
Gang = Annotated[bool, _option(_OFTEN, "--gang", help="Start all tasks together, or none.")]

Cpu = Annotated[Text, _option(_NEEDS, "--cpu", metavar="CORES", help="CPU cores per task: 2, 500m. Default: 1.")]
Memory = Annotated[Text, _option(_NEEDS, "--memory", metavar="AMOUNT", help="Memory per task, also its limit: 256Mi.")]
Disk = Annotated[Text, _option(_NEEDS, "--disk", metavar="AMOUNT", help="Disk space per task: 1Gi.")]
Gpu = Annotated[int | None, _option(_NEEDS, "--gpu", min=0, metavar="N", help="GPUs per task.")]
Resources = Annotated[
    Words,
    _option(_NEEDS, "--resource", metavar="KEY=N", help="Other resource per task: licence/matlab=1. May be repeated."),
]
Exclusive = Annotated[
    bool, _option(_NEEDS, "--exclusive", help="Use nodes exclusively: no other job runs there meanwhile.")
]
Datacenters = Annotated[
    Words, _option(_NEEDS, "--datacenter", metavar="NAME", help="Datacenter to run in. May be repeated.")
]
Constraints = Annotated[
    Words,
    _option(
        _NEEDS,
        "--constraint",
        metavar="RULE",
        help="Condition for nodes: \"node.labels.disk == 'ssd'\". May be repeated.",
    ),
]
Isolation = Annotated[
    Text,
    _option(
        _NEEDS,
        "--isolation",
        metavar="user|namespace|container",
        help="Run only on nodes that hide the cluster's secrets from tasks in this way.",
    ),
]

Priority = Annotated[
    int | None,
    _option(_WHEN, "--priority", metavar="N", help="Priority from 0 to 100; higher starts first. Default: 50."),
]
Queue = Annotated[Text, _option(_WHEN, "--queue", metavar="NAME", help="Queue of the job. Default: default.")]
After = Annotated[
    Words,
    _option(
        _WHEN, "--after", metavar="JOB[:WHEN]", autocompletion=complete_jobs,
        help="Start after this job has succeeded (default), failed or finished. May be repeated.",
    ),
]  # fmt: skip
StartAt = Annotated[
    Text,
    _option(
        _WHEN, "--start-at", metavar="TIME", help="Earliest start: 2030-01-31T08:00, or 90m for 90 minutes from now."
    ),
]
Deadline = Annotated[
    Text,
    _option(
        _WHEN, "--deadline", metavar="TIME", help="Time by which the job should end; earlier deadlines start first."
    ),
]
Estimate = Annotated[Text, _option(_WHEN, "--estimate", metavar="TIME", help="Expected run time of a task: 10m.")]
Timeout = Annotated[Text, _option(_WHEN, "--timeout", metavar="TIME", help="Stop a task that runs longer: 90s, 1h30m.")]
QueueTimeout = Annotated[
    Text, _option(_WHEN, "--queue-timeout", metavar="TIME", help="Fail a task that is queued longer than this.")
]
JobTimeout = Annotated[
    Text, _option(_WHEN, "--job-timeout", metavar="TIME", help="Stop the job if it takes longer than this.")
]
Restart = Annotated[
    Text,
    _option(
        _WHEN,
        "--restart",
        metavar="POLICY",
        help="Restart policy: never (default), on-failure, on-failure:5 or always.",
    ),
]
Retries = Annotated[int | None, _option(_WHEN, "--retries", min=0, metavar="N", help="Same as --restart on-failure:N.")]
Hold = Annotated[bool, _option(_WHEN, "--hold", help="Hold the job until `shunter release`.")]

Name = Annotated[Text, _option(_JOB, "--name", metavar="NAME", help="Name of the job. Default: made from the command.")]
Labels = Annotated[Words, _option(_JOB, "--label", metavar="KEY=VALUE", help="Label of the job. May be repeated.")]
Detach = Annotated[bool, _option(_JOB, "--detach", "-d", help="Print the name of the job and return.")]


def countables(gpu: int | None, words: Words) -> dict[str, int | str]:
    """Counts as numbers. The cluster rejects values that are not numbers, together with all other problems."""
    found = {key: int(value) if value.isdecimal() else value for key, value in pairs(words, "--resource").items()}
    return found if gpu is None else {"gpu": gpu, **found}


def environment(words: Words, files: Words = None) -> dict[str, str]:
    """KEY=VALUE as given; KEY alone with its value in this environment. Files come first. Raises Invalid."""
    found: dict[str, str] = {}
    for file in files or ():
        found |= _environment_file(file)
    for word in words or ():
        key, equals, value = word.partition("=")
        if not equals and key not in os.environ:
            raise Invalid(
                [Problem("--env", "variable is not set in your environment", word, f"write it as {word}=VALUE")]
            )
        found[key] = value if equals else os.environ[key]
    return found


def _environment_file(file: str) -> dict[str, str]:
    """As systemd and Compose read it: without the quotes around a whole value, no expansion; empty lines and lines that
    start with # do not count. `export` before a key is for shells that read the same file."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(ENV_FILE_SIZE_MAX + 1)
        lines = data.decode().splitlines()
    except OSError as error:
        raise Invalid([Problem("--env-file", f"cannot be read: {error.strerror}", file)]) from error
    except UnicodeDecodeError as error:
        raise Invalid([Problem("--env-file", "must be UTF-8", file, "save it as UTF-8")]) from error
    if len(data) > ENV_FILE_SIZE_MAX:
        raise Invalid([Problem("--env-file", f"must be at most {ENV_FILE_SIZE_MAX:,} bytes", file)])
    found = {}
    for number, line in enumerate(lines, 1):
        key, equals, value = line.strip().partition("=")
        if key.startswith("#") or not (key or equals):
            continue
        words = key.split()
        key = words[-1] if len(words) == 2 and words[0] == "export" else key
        if not key or not equals or len(key.split()) > 1:
            raise Invalid([Problem("--env-file", f"line {number} of {file} must have the form KEY=VALUE", key)])
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[key] = value[1:-1] if is_quoted else value
    return found


def timeouts(run: Text, queue: Text, job: Text) -> str | dict[str, str] | None:
    """The `timeout` field of the manifest. Text alone limits the run time of a task."""
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
        raise Invalid(
            [
                Problem(
                    "--each-line", f"cannot be read: {error.strerror}", file, "name a file that exists and is readable"
                )
            ]
        ) from error
    except UnicodeDecodeError as error:
        raise Invalid([Problem("--each-line", "must be UTF-8", file, "save it as UTF-8")]) from error
    except ValueError as error:
        fix = f"give one line per task, of at most {ENTRY_SIZE_MAX:,} bytes"
        raise Invalid([Problem("--each-line", str(error), file, fix)]) from error
