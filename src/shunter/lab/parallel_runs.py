"""Runs several policies in parallel, each in a process of its own. Called by `lab.experiment`."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

from shunter.lab.run import RunFailed, RunResult

Key = tuple[str, int]  # a policy, and the number of its run


def run_in_parallel(
    keys: Sequence[Key], run: Callable[[Key], RunResult], processes: int
) -> Iterator[tuple[Key, RunResult]]:
    """The results in the order of the keys, whichever ends first."""
    if processes == 1 or len(keys) == 1:
        for key in keys:
            yield key, run(key)
        return
    waiting, running = list(keys), dict[Key, Callable[[], RunResult]]()
    with _processes() as start:
        for key in keys:
            while waiting and len(running) < processes:
                next_key = waiting.pop(0)
                running[next_key] = start(run, next_key)
            yield key, running.pop(key)()


@contextmanager
def _processes() -> Iterator[Callable[[Callable[[Key], RunResult], Key], Callable[[], RunResult]]]:
    """Start runs in processes of their own. Those that still run at the end are ended."""
    context, started = multiprocessing.get_context("fork"), []

    def start(run: Callable[[Key], RunResult], key: Key) -> Callable[[], RunResult]:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run_in_process, args=(run, key, sender), daemon=True)
        process.start()
        sender.close()
        started.append(process)

        def wait() -> RunResult:
            try:
                result = receiver.recv()
            except EOFError:
                raise RunFailed(f"the process of policy {key[0]} died") from None
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


def _run_in_process(run: Callable[[Key], RunResult], key: Key, sender: Connection) -> None:
    try:
        sender.send(run(key))
    except RunFailed as error:
        sender.send(str(error))
