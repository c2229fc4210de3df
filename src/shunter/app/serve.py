"""The process of a cluster: `python -m shunter.app.serve OPTIONS_JSON [READY_FD]`. Started by `app.up`.

It writes one line of JSON to READY_FD when it is ready, or when it cannot start, with the reason."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable

import msgspec

from shunter.adapters.system.descriptors import raise_descriptor_limit
from shunter.adapters.system.garbage import tune_garbage_collector
from shunter.app.config import Config, read_config
from shunter.app.diagnosis.log_setup import LogSetup, set_up_logging
from shunter.app.home import DISK_FULL, PRIVATE_UMASK, Home
from shunter.app.options import UpOptions
from shunter.model.errors import ShunterError, Unavailable
from shunter.model.schema.problems import format_error


class Readiness(msgspec.Struct, omit_defaults=True):
    """The message of a starting process to the one that waits for it."""

    url: str = ""
    workers: str = ""
    external: str = ""
    schedulers: str = ""  # address of the gRPC listener for schedulers
    policy: str = ""  # the active policy
    error: str = ""
    is_rejected: bool = False
    is_already_running: bool = False
    fields: tuple[str, ...] = ()  # that the error is about


def main(arguments: list[str]) -> int:
    options = msgspec.json.decode(arguments[0], type=UpOptions)
    ready_fd = int(arguments[1]) if len(arguments) > 1 else None

    def report(readiness: Readiness) -> None:
        if ready_fd is not None:
            os.write(ready_fd, msgspec.json.encode(readiness) + b"\n")
            os.close(ready_fd)

    return run(options, report, logging.INFO)


def run(options: UpOptions, report: Callable[[Readiness], None], log_level: int = logging.WARNING) -> int:
    """Run the cluster until it stops; returns the exit code. `log_level` is the default."""
    tune_garbage_collector()  # from now on, because loading modules frees nothing
    descriptors = raise_descriptor_limit()
    import uvloop

    options = msgspec.structs.replace(options, task_umask=os.umask(PRIVATE_UMASK))
    try:
        log_setup = set_up_logging(log_level)
        home = Home.find()
        os.environ["SHUNTER_HOME"] = str(home.folder)
        lock_fd = home.lock()
    except ShunterError as error:
        report(Readiness(error=format_error(error), is_rejected=True))
        return 2
    if lock_fd is None:
        report(Readiness(is_already_running=True))
        return 0
    home.remove_description()  # a killed process left its own
    try:
        uvloop.run(
            _serve(home, options, read_config(home.config).with_task_descriptors(descriptors), report, log_setup)
        )
    except ShunterError as error:
        fields = tuple(problem.field for problem in error.problems)
        report(Readiness(error=format_error(error), is_rejected=error.status < 500, fields=fields))
        return 2 if error.status < 500 else 1
    except OSError as error:
        report(Readiness(error=start_error(home, error)))
        return 1
    finally:
        os.close(lock_fd)
    return 0


def start_error(home: Home, error: OSError) -> str:
    """What to tell the user. The error of a write to a full disk does not name the file."""
    if error.errno in DISK_FULL:
        return format_error(home.unusable(error))
    text = error.strerror or str(error)
    return f"cannot start: {error.filename}: {text}" if error.filename else f"cannot start: {text}"


async def _serve(
    home: Home, options: UpOptions, config: Config, report: Callable[[Readiness], None], log_setup: LogSetup
) -> None:
    from shunter.app.manager import Manager

    manager = Manager(home, options, config)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, manager.request_stop, True)
    loop.add_signal_handler(signal.SIGINT, manager.request_stop, False)
    try:
        await asyncio.wait_for(manager.start(), manager.start_max_s)
    except TimeoutError:
        raise Unavailable(f"the cluster was not ready within {manager.start_max_s:.0f} s") from None
    log_setup.hide(*(path.read_text().strip() for path in (home.token, home.worker_token) if path.exists()))
    tune_garbage_collector()  # once more, because what is there now stays for good
    addresses = manager.url, manager.workers_address, manager.external_url, manager.schedulers_address
    report(Readiness(*addresses, policy=manager.policy))
    await manager.stop(leave_running=await manager.wait())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
