"""The commands that start and stop clusters: up, down, manager, worker; and version. The work is done by `shunter.app`,
which is loaded here and nowhere else, because it brings the whole server with it."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from shunter import __version__
from shunter.cli.options import address, amount, pairs
from shunter.model.errors import Invalid, Problem

Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where the API listens. Default: 127.0.0.1, a free port.")
]
Policy = Annotated[
    str | None, typer.Option(help="How to choose nodes: e-pvm, bin-pack, spread, round-robin, greedy, ...")
]
Store = Annotated[str, typer.Option(help="sqlite keeps everything; memory forgets it at the end.")]
Cpu = Annotated[str | None, typer.Option(help="Cores that tasks may use, even more than there are. Default: all.")]
Memory = Annotated[str | None, typer.Option(help="Memory that tasks may use: 4Gi. Default: all.")]


def up(
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when it is ready; it goes on running.")
    ] = False,
    cpu: Cpu = None,
    memory: Memory = None,
    listen: Listen = None,
    simulate_nodes: Annotated[
        int | None, typer.Option(min=1, help="Simulate so many nodes; no task really runs.")
    ] = None,
    speed: Annotated[float, typer.Option(min=0.001, help="How fast simulated time passes.")] = 1.0,
    policy: Policy = None,
    store: Store = "sqlite",
    name: Annotated[str | None, typer.Option(help="Name of the cluster. Default: the machine's.")] = None,
) -> None:
    """Start a cluster on this machine: a manager and a worker in one process, with all state under SHUNTER_HOME.

    If it runs already, say so.

    \b
    shunter up --detach
    shunter up --cpu 2 --listen 127.0.0.1:7070
    shunter up --simulate-nodes 5000 --policy bin-pack
    """
    _start(
        "up",
        detach=detach,
        cpu_milli=amount("cpu", cpu, "--cpu"),
        memory_bytes=amount("memory", memory, "--memory"),
        listen=address(listen, "--listen"),
        simulate_nodes=simulate_nodes,
        speed=speed,
        policy=policy,
        store=_checked_store(store),
        name=name,
    )


def down(
    leave_running: Annotated[
        bool, typer.Option("--leave-running", help="Leave running tasks alone; the next start finds them again.")
    ] = False,
) -> None:
    """Stop the cluster of this machine. Nothing is lost: running tasks are ended gracefully and queued again.

    \b
    shunter down
    """
    _start("down", leave_running=leave_running)


def manager(
    listen: Listen = None,
    workers_listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where workers join. Default: 127.0.0.1, a free port.")
    ] = None,
    policy: Policy = None,
    store: Store = "sqlite",
    name: Annotated[str | None, typer.Option(help="Name of the cluster. Default: the machine's.")] = None,
) -> None:
    """Start a manager alone, in the foreground. Workers join it from this machine or others.

    \b
    shunter manager --listen 127.0.0.1:7070 --workers-listen 127.0.0.1:7071
    """
    _start(
        "manager",
        listen=address(listen, "--listen"),
        workers_listen=address(workers_listen, "--workers-listen"),
        policy=policy,
        store=_checked_store(store),
        name=name,
    )


def worker(
    manager: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the manager lets workers join.")],
    token: Annotated[str | None, typer.Option(envvar="SHUNTER_WORKER_TOKEN", help="The workers' token.")] = None,
    token_file: Annotated[str | None, typer.Option(help="A file that holds it.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the node. Default: the machine's.")] = None,
    cpu: Cpu = None,
    memory: Memory = None,
    label: Annotated[list[str] | None, typer.Option(help="A label of the node, KEY=VALUE. May be repeated.")] = None,
    datacenter: Annotated[str | None, typer.Option(help="Where the machine stands.")] = None,
) -> None:
    """Start a worker that joins a manager, in the foreground. Its tasks outlive it: a new start finds them again.

    \b
    shunter worker --manager 10.0.0.5:7071 --token-file worker-token --label disk=ssd
    """
    _start(
        "worker",
        manager=address(manager, "--manager"),
        token=_read_token(token, token_file),
        name=name,
        cpu_milli=amount("cpu", cpu, "--cpu"),
        memory_bytes=amount("memory", memory, "--memory"),
        labels=pairs(label, "--label"),
        datacenter=datacenter,
    )


def version() -> None:
    """Print the version."""
    print(f"shunter {__version__}")


def _start(entry: str, /, **options: Any) -> None:
    """Hand over to `shunter.app.ENTRY.ENTRY(**options)`, which comes to the exit code."""
    code = getattr(import_module(f"shunter.app.{entry}"), entry)(**options)
    raise typer.Exit(code or 0)


def _checked_store(store: str) -> str:
    if store not in ("sqlite", "memory"):
        raise Invalid([Problem("--store", "is not known", store, "choose sqlite or memory")])
    return store


def _read_token(token: str | None, token_file: str | None) -> str | None:
    if token is not None or token_file is None:
        return token
    try:
        with open(token_file) as file:
            return file.read().strip()
    except OSError as error:
        raise Invalid([Problem("--token-file", f"cannot be read: {error.strerror}", token_file)]) from error
