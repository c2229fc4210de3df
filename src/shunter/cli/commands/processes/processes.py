"""The commands that start and stop clusters: up, down, manager, worker; and version. The work is done by `shunter.app`,
which is loaded here and nowhere else, and only as far as needed, because it brings the whole server with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from shunter import __version__
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, USAGE_ERROR, print_notice
from shunter.cli.options import check_address, check_amount, pairs
from shunter.model.errors import Invalid, Problem

if TYPE_CHECKING:
    from shunter.app.serve import Readiness
    from shunter.app.up import StartResult

Detach = Annotated[bool, typer.Option("--detach", "-d", help="Return when it is ready; it goes on running.")]
Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where the API listens. Default: 127.0.0.1, a free port.")
]
WorkersListen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where workers of other machines may join.")
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Let other machines reach it although there is no TLS.")]
ExternalListen = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Where external schedulers find /external and /scheduler, and only them."),
]
ExternalGrpc = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where external schedulers connect over gRPC. Default: nowhere.")
]
ExternalOpen = Annotated[bool, typer.Option("--external-open", help="They need no token there; on loopback only.")]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="How to choose nodes: e-pvm, bin-pack, spread, ..., remote:NAME, or your MODULE:CLASS."
    ),
]
Store = Annotated[str, typer.Option(metavar="sqlite|memory", help="memory forgets everything at the end.")]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Start although committed work is missing from a damaged store.")
]
ClusterName = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the cluster. Default: the machine's.")]
Cpu = Annotated[
    str | None, typer.Option(metavar="CORES", help="Cores for tasks; may be more than there are. Default: all.")
]
Memory = Annotated[str | None, typer.Option(metavar="AMOUNT", help="Memory for tasks: 4Gi. Default: all.")]
Resource = Annotated[
    list[str] | None, typer.Option(metavar="KEY=N", help="A countable it has: gpu=2. May be repeated.")
]
Device = Annotated[
    list[str] | None, typer.Option(metavar="KIND=ID,...", help="Devices it has: gpu=0,1. May be repeated.")
]
Label = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A label of the node. May be repeated.")]
Datacenter = Annotated[str | None, typer.Option(metavar="NAME", help="Where the machine stands.")]


def up(
    detach: Detach = False,
    cpu: Cpu = None,
    memory: Memory = None,
    resource: Resource = None,
    device: Device = None,
    label: Label = None,
    datacenter: Datacenter = None,
    listen: Listen = None,
    workers_listen: WorkersListen = None,
    insecure: Insecure = False,
    external_listen: ExternalListen = None,
    external_open: ExternalOpen = False,
    external_grpc: ExternalGrpc = None,
    simulate_nodes: Annotated[
        int, typer.Option(min=0, metavar="N", help="Simulate so many nodes; no task really runs.")
    ] = 0,
    speed: Annotated[float, typer.Option(min=0.001, metavar="X", help="How fast simulated time passes.")] = 1.0,
    policy: Policy = None,
    store: Store = "sqlite",
    accept_loss: AcceptLoss = False,
    name: ClusterName = None,
) -> None:
    """Start a cluster on this machine: a manager and a worker in one process, with all state under SHUNTER_HOME.

    If it runs already, say so. Stopping it loses nothing: the next start goes on where it was. What is not said here,
    SHUNTER_HOME/config.toml may say.

    \b
    shunter up --detach
    shunter up --cpu 2 --listen 127.0.0.1:7070
    shunter up --simulate-nodes 5000 --policy bin-pack
    shunter up --external-listen 127.0.0.1:8082 --external-open
    """
    if simulate_nodes:
        _reject_machine_options(
            cpu=cpu, memory=memory, resource=resource, device=device, label=label, datacenter=datacenter
        )
    options = {
        "machine": _machine(cpu, memory, resource, device, label, datacenter),
        "simulate_nodes": simulate_nodes,
        "speed": speed,
        **_manager_options(listen, workers_listen, insecure, policy, store, accept_loss, name),
        **_external_options(external_listen, external_open, external_grpc),
    }
    raise typer.Exit(_start(options, detach))


def _reject_machine_options(**given: object) -> None:
    """What is said of this machine says nothing of simulated nodes."""
    fix = "leave it out; their labels are set by: shunter node label sim-00001 KEY=VALUE"
    wrong = [
        Problem(f"--{option}", "is of this machine, and the nodes are simulated", None, fix)
        for option in given
        if given[option]
    ]
    if wrong:
        raise Invalid(wrong)


def down(
    leave_running: Annotated[
        bool, typer.Option("--leave-running", help="Leave running tasks alone; the next start finds them again.")
    ] = False,
) -> None:
    """Stop the cluster of this machine. Nothing is lost: running tasks are ended gracefully and queued again.

    \b
    shunter down
    """
    from shunter.app.down import stop_cluster

    stopped = stop_cluster(leave_running)
    print("the cluster has stopped" if stopped else "no cluster is running here")


def manager(
    detach: Detach = False,
    listen: Listen = None,
    workers_listen: WorkersListen = None,
    insecure: Insecure = False,
    external_listen: ExternalListen = None,
    external_open: ExternalOpen = False,
    external_grpc: ExternalGrpc = None,
    policy: Policy = None,
    store: Store = "sqlite",
    accept_loss: AcceptLoss = False,
    name: ClusterName = None,
) -> None:
    """Start a manager alone. Workers join it, from this machine or from others, with the token in
    SHUNTER_HOME/worker-token.

    \b
    shunter manager --listen 127.0.0.1:7070 --workers-listen 127.0.0.1:7071
    """
    options = _manager_options(listen, workers_listen, insecure, policy, store, accept_loss, name)
    options |= _external_options(external_listen, external_open, external_grpc)
    raise typer.Exit(_start({**options, "has_worker": False}, detach))


def worker(
    manager: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the manager lets workers join.")],
    token: Annotated[str | None, typer.Option(envvar="SHUNTER_WORKER_TOKEN", help="The workers' token.")] = None,
    token_file: Annotated[str | None, typer.Option(metavar="FILE", help="A file that holds it.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the node. Default: the machine's.")] = None,
    cpu: Cpu = None,
    memory: Memory = None,
    resource: Resource = None,
    device: Device = None,
    label: Label = None,
    datacenter: Datacenter = None,
) -> None:
    """Start a worker that joins a manager, in the foreground. Its tasks outlive it: the next start finds them again.

    \b
    shunter worker --manager 10.0.0.5:7071 --token-file worker-token --label disk=ssd
    """
    options = {
        "manager": check_address(manager, "--manager"),
        "token": _worker_token(token, token_file),
        "machine": {"name": name, **_machine(cpu, memory, resource, device, label, datacenter)},
    }
    from shunter.app.worker import run_worker

    raise typer.Exit(run_worker(_json(options)))


def version() -> None:
    """Print the version."""
    print(f"shunter {__version__}")


def _manager_options(
    listen: str | None,
    workers_listen: str | None,
    insecure: bool,
    policy: str | None,
    store: str,
    accept_loss: bool,
    name: str | None,
) -> dict[str, Any]:
    if store not in ("sqlite", "memory"):
        raise Invalid([Problem("--store", "is not known", store, "choose sqlite or memory")])
    return {
        "listen": check_address(listen, "--listen"),
        "workers_listen": check_address(workers_listen, "--workers-listen"),
        "insecure": insecure,
        "policy": policy,
        "store": store,
        "accept_loss": accept_loss,
        "name": name,
    }


def _external_options(listen: str | None, is_open: bool, grpc: str | None) -> dict[str, Any]:
    return {
        "external_listen": check_address(listen, "--external-listen"),
        "external_open": is_open,
        "external_grpc": check_address(grpc, "--external-grpc"),
    }


def _machine(
    cpu: str | None,
    memory: str | None,
    resources: list[str] | None,
    devices: list[str] | None,
    labels: list[str] | None,
    datacenter: str | None,
) -> dict[str, Any]:
    return {
        "cpu": check_amount("cpu", cpu, "--cpu"),
        "memory": check_amount("memory", memory, "--memory"),
        "resources": pairs(resources, "--resource"),
        "devices": pairs(devices, "--device"),
        "labels": pairs(labels, "--label"),
        "datacenter": datacenter,
    }


def _start(options: dict[str, Any], detach: bool) -> int:
    if detach:
        from shunter.app.up import start_in_background

        return _report_start(start_in_background(_json(options)), options["policy"])
    import logging

    from shunter.app.options import UpOptions
    from shunter.app.serve import run

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    return run(msgspec.json.decode(_json(options), type=UpOptions), partial(_report_ready, options["policy"]))


def _report_ready(policy: str | None, readiness: Readiness) -> None:
    from shunter.app.home import Home
    from shunter.app.serve import ALREADY_RUNNING
    from shunter.app.up import StartResult, running_cluster

    if readiness.error == ALREADY_RUNNING:
        _report_start(running_cluster(Home.find()))
    else:
        _report_start(StartResult(**msgspec.structs.asdict(readiness)), policy)


def _report_start(started: StartResult, policy: str | None = None) -> int:
    """Tell what came of a start for which `policy` was named; comes to the exit code."""
    if started.error:
        print_notice(f"error: {started.error}")
        return USAGE_ERROR if started.is_rejected else JOB_FAILED
    print(
        f"the cluster {'is running already' if started.was_running else 'is ready'} at {started.url}",
        flush=True,
    )
    if started.external:
        print(f"external schedulers find it at {started.external}", flush=True)
    if started.schedulers:
        print(f"schedulers that speak gRPC find it at {started.schedulers}", flush=True)
    if started.workers:
        print(f"workers join at {started.workers}", flush=True)
    if policy and started.policy not in ("", policy):
        print_notice(
            f"{started.policy} decides: it was chosen while the cluster ran. Change it: shunter policies use {policy}"
        )
    return SUCCESS


def _json(options: dict[str, Any]) -> bytes:
    """What was said, for `app.options`; the rest has its defaults there."""
    return msgspec.json.encode({key: value for key, value in options.items() if value is not None})


def _worker_token(token: str | None, token_file: str | None) -> str:
    if token is not None:
        return token
    if token_file is None:
        fix = "give --token-file; the manager keeps the token in SHUNTER_HOME/worker-token"
        raise Invalid([Problem("--token", "is missing", fix=fix)])
    try:
        with open(token_file) as file:
            return file.read().strip()
    except OSError as error:
        raise Invalid([Problem("--token-file", f"cannot be read: {error.strerror}", token_file)]) from error
