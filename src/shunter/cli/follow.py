"""Follows a job from a terminal. Ctrl-C or a closed pipe stops the job. `PendingNotice` says why a job that a command
waits for stays pending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from shunter.cli.exit_codes import print_notice
from shunter.cli.interrupts import StopOnInterrupt
from shunter.model.errors import ShunterError
from shunter.model.job.spec import LONG_RUNNING
from shunter.model.rest.job_views import FollowLine, JobView
from shunter.sdk.client import Client, Job
from shunter.sdk.manifests import Manifest

EXPLAIN_DELAY_S = 3.0


def follow_submit(
    client: Client, manifest: Manifest, mode: str, show: Callable[[FollowLine], None]
) -> tuple[FollowLine, bool]:
    """Submit a job and `show` its lines. Returns the last line, and whether the user interrupted the job."""
    job: Job | None = None
    end = FollowLine()
    with StopOnInterrupt() as interrupt, _Explanation() as explanation:
        try:
            for line in client.submit_and_follow(manifest, mode):
                if line.job is not None:
                    job = Job(client, line.job)
                    interrupt.watch(job)
                    explanation.begin(job)
                elif line.end is not None:
                    end = line
                else:
                    show(line)
        except BrokenPipeError:
            if job is not None:  # nobody reads the output: end the writer, as in any pipe
                job.stop()
            raise
    return end, interrupt.interrupts > 0


class _Explanation:
    """Prints why a job is pending if it has not started after a few seconds."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def __enter__(self) -> _Explanation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def begin(self, job: Job) -> None:
        self._timer = threading.Timer(EXPLAIN_DELAY_S, _explain, (job,))
        self._timer.daemon = True
        self._timer.start()


class PendingNotice:
    """Says once why a job that was submitted earlier stays pending, with its name: a command may wait for several."""

    def __init__(self) -> None:
        self._due_s = time.monotonic() + EXPLAIN_DELAY_S
        self._is_due = True

    def look(self, job: Job) -> None:
        """Called again and again while a command waits for the job."""
        if self._is_due and _is_pending(job.view) and time.monotonic() >= self._due_s:
            self._is_due = False
            _explain(job, f"{job.name}: ")


def _is_pending(view: JobView) -> bool:
    """A service is not up while one of its instances is pending."""
    return view.state == "pending" or (view.type in LONG_RUNNING and "queued" in view.counts)


def _explain(job: Job, title: str = "") -> None:
    try:
        found = job.why()
    except ShunterError:
        return  # the follower of the job gets the same error
    if found.state == "pending" or title:
        print_notice(f"{title}{found.sentence}")
