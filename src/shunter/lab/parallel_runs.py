"""Runs several policies in parallel, each in a process of its own. Called by `lab.experiment`."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

from shunter.lab.run import RunFailed, RunResult


def run_in_parallel(
    names: Sequence[str], run: Callable[[str], RunResult], processes: int
) -> Iterator[tuple[str, RunResult]]:
    """The results in the order of the names, whichever ends first."""
    if processes == 1 or len(names) == 1:
        for name in names:
            yield name, run(name)
        return
    waiting, running = list(names), dict[str, Callable[[], RunResult]]()
    with _processes() as start:
        for name in names:
            while waiting and len(running) < processes:
                next_name = waiting.pop(0)
                running[next_name] = start(run, next_name)
            yield name, running.pop(name)()


@contextmanager
def _processes() -> Iterator[Callable[[Callable[[str], RunResult], str], Callable[[], RunResult]]]:
    """Start runs in processes of their own. Those that still run at the end are ended."""
    context, started = multiprocessing.get_context("fork"), []

    def start(run: Callable[[str], RunResult], name: str) -> Callable[[], RunResult]:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run_in_process, args=(run, name, sender), daemon=True)
        process.start()
        sender.close()
        started.append(process)

        def wait() -> RunResult:
            try:
                result = receiver.recv()
            except EOFError:
                raise RunFailed(f"the process of policy {name} died") from None
            if isinstance(result, RunResult):
                return result
            raise RunFailed(result)

        return wait

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
            process.join()


def _run_in_process(run: Callable[[str], RunResult], name: str, sender: Connection) -> None:
    try:
        sender.send(run(name))
    except RunFailed as error:
        sender.send(str(error))
