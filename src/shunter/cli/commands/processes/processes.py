"""The commands that start processes: up, manager, worker; and version. `shunter.app` does the work. It is imported only
inside the functions, because it imports the whole server."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from shunter import __version__
from shunter.cli.commands.processes.sign_in_options import (
    AuthPlugin,
    OidcAudience,
    OidcClientId,
    OidcIssuer,
    OidcRoleMap,
    sign_in_options,
)
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, USAGE_ERROR, print_error, print_notice, print_warning
from shunter.cli.options import check_address, check_addresses, check_amount, check_token, pairs, read_token_file
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem

if TYPE_CHECKING:
    from shunter.app.serve import Readiness
    from shunter.app.up import StartResult

WORKER_TOKEN_VARIABLE = "SHUNTER_WORKER_TOKEN"

Detach = Annotated[
    bool, typer.Option("--detach", "-d", help="Return when it is ready, and leave it running in the background.")
]
Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Address of the API. Default: 127.0.0.1 and a free port.")
]
WorkersListen = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Address for workers of other machines.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow connections from other machines without TLS.")]
Tls = Annotated[
    bool,
    typer.Option("--tls", help="Encrypt all connections, with certificates of 'shunter ca' or config.toml."),
]
ExternalListen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Address for external schedulers that serves only /external and /scheduler."
    ),
]
ExternalGrpc = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Address for external schedulers that use gRPC. Default: none.")
]
ExternalOpen = Annotated[
    bool, typer.Option("--external-open", help="Require no token at --external-listen; loopback only.")
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Scheduling policy: e-pvm, bin-pack, spread, ..., remote:NAME, or your MODULE:CLASS."
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="sqlite|memory|URL",
        help="Where to store the state: sqlite (default), memory (lost on exit), or postgresql://USER@HOST/DATABASE.",
    ),
]
Objects = Annotated[
    str | None,
    typer.Option(
        metavar="kubernetes",
        help="Where Testbeds, BatchJobs and Schedulings are, with 'shunter operator' at work. Default: in the store.",
    ),
]
Kubernetes = Annotated[
    bool, typer.Option("--kubernetes", help="Run jobs as pods on the nodes of a Kubernetes cluster.")
]
Image = Annotated[
    str | None, typer.Option("--image", metavar="IMAGE", help="With --kubernetes: image of jobs that name none.")
]
PodNamespace = Annotated[
    str | None,
    typer.Option("--pod-namespace", metavar="NAME", help="With --kubernetes: where the pods are. Default: default."),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="For --kubernetes and --objects kubernetes, as for 'shunter operator'."
    ),
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="Context of that kubeconfig. Default: its current one.")
]
Coordination = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="etcd that elects the leader of several managers: etcd://HOST:2379. Default: no other managers.",
    ),
]
Advertise = Annotated[
    str | None,
    typer.Option(
        metavar="HOST", help="Host where other managers and workers reach this one. Default: the host of each listener."
    ),
]
Roles = Annotated[
    str | None,
    typer.Option(
        metavar="ROLE,...",
        help="What this manager does: api, scheduler, watcher. Default: all. A cluster needs each role somewhere.",
    ),
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Start even if committed changes are missing from a damaged store.")
]
OtlpEndpoint = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="OTLP receiver for traces: http://127.0.0.1:4318. Needs shunter[otel]. Default: no tracing."
    ),
]
ClusterName = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the cluster. Default: the host name.")]
ManagerName = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the manager. Default: the host name.")]
Cpu = Annotated[
    str | None, typer.Option(metavar="CORES", help="CPU cores for tasks; may exceed the real number. Default: all.")
]
Memory = Annotated[str | None, typer.Option(metavar="AMOUNT", help="Memory for tasks: 4Gi. Default: all.")]
Resource = Annotated[
    list[str] | None, typer.Option(metavar="KEY=N", help="Countable resource of the node: gpu=2. May be repeated.")
]
Device = Annotated[
    list[str] | None, typer.Option(metavar="KIND=ID,...", help="Devices of the node: gpu=0,1. May be repeated.")
]
Label = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Label of the node. May be repeated.")]
Datacenter = Annotated[str | None, typer.Option(metavar="NAME", help="Datacenter of the node.")]


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
    tls: Tls = False,
    insecure: Insecure = False,
    external_listen: ExternalListen = None,
    external_open: ExternalOpen = False,
    external_grpc: ExternalGrpc = None,
    oidc_issuer: OidcIssuer = None,
    oidc_client_id: OidcClientId = None,
    oidc_audience: OidcAudience = None,
    oidc_role_map: OidcRoleMap = None,
    auth_plugin: AuthPlugin = None,
    simulate_nodes: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of simulated nodes; tasks do not really run.")
    ] = 0,
    speed: Annotated[float, typer.Option(min=0.001, metavar="X", help="Speed of simulated time.")] = 1.0,
    policy: Policy = None,
    store: Store = None,
    accept_loss: AcceptLoss = False,
    otlp_endpoint: OtlpEndpoint = None,
    name: ClusterName = None,
) -> None:
    """Start a cluster on this machine: a manager and a worker in one process, with all state in SHUNTER_HOME.

    If the cluster is already running, print its URL. Stopping it loses nothing: the next start continues where it
    stopped. SHUNTER_HOME/config.toml may set these options too.

    \b
    shunter up --detach
    shunter up --cpu 2 --listen 127.0.0.1:7070
    shunter up --tls --listen 10.0.0.5:7070
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
        **_manager_options(listen, workers_listen, tls, insecure, policy, store, accept_loss, name),
        **_external_options(external_listen, external_open, external_grpc),
        **_tracing_options(otlp_endpoint),
        **sign_in_options(oidc_issuer, oidc_client_id, oidc_audience, oidc_role_map, auth_plugin),
    }
    raise typer.Exit(_start(options, detach))


def _reject_machine_options(**given: object) -> None:
    """Reject options about this machine, which do not apply to simulated nodes."""
    fix = "remove it; set labels with: shunter node label sim-00001 KEY=VALUE"
    wrong = [
        Problem(f"--{option}", "does not apply to simulated nodes", None, fix) for option in given if given[option]
    ]
    if wrong:
        raise Invalid(wrong)


def manager(
    detach: Detach = False,
    listen: Listen = None,
    workers_listen: WorkersListen = None,
    tls: Tls = False,
    insecure: Insecure = False,
    external_listen: ExternalListen = None,
    external_open: ExternalOpen = False,
    external_grpc: ExternalGrpc = None,
    oidc_issuer: OidcIssuer = None,
    oidc_client_id: OidcClientId = None,
    oidc_audience: OidcAudience = None,
    oidc_role_map: OidcRoleMap = None,
    auth_plugin: AuthPlugin = None,
    policy: Policy = None,
    store: Store = None,
    kubernetes: Kubernetes = False,
    image: Image = None,
    pod_namespace: PodNamespace = None,
    objects: Objects = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    coordination: Coordination = None,
    advertise: Advertise = None,
    roles: Roles = None,
    accept_loss: AcceptLoss = False,
    otlp_endpoint: OtlpEndpoint = None,
    name: ManagerName = None,
) -> None:
    """Start a manager without a worker.

    Workers on this and other machines join it with the token in SHUNTER_HOME/worker-token. With --kubernetes, the nodes
    of a Kubernetes cluster are its workers, and run its tasks as pods.

    Several managers that share a PostgreSQL store and an etcd are one cluster. One of them leads; if it ends, another
    takes over. They need different names, and the same token and worker-token in their homes.

    \b
    shunter manager --listen 127.0.0.1:7070 --workers-listen 127.0.0.1:7071
    shunter manager --store postgresql://shunter@db.example/shunter
    shunter manager --kubernetes --image busybox --kubeconfig ~/.kube/config
    shunter manager --objects kubernetes --kubeconfig ~/.kube/config
    shunter manager --name m1 --store postgresql://... --coordination etcd://etcd.example:2379
    shunter manager --name w1 --roles watcher --store postgresql://... --coordination etcd://etcd.example:2379
    """
    options = _manager_options(listen, workers_listen, tls, insecure, policy, store, accept_loss, name)
    options |= _external_options(external_listen, external_open, external_grpc) | _tracing_options(otlp_endpoint)
    options |= sign_in_options(oidc_issuer, oidc_client_id, oidc_audience, oidc_role_map, auth_plugin)
    if objects is not None or kubeconfig is not None or context is not None:
        from shunter.app.kubernetes.objects import check_objects

        check_objects(objects, kubeconfig, context, runs_jobs=kubernetes)
    if kubernetes or image is not None or pod_namespace is not None:
        from shunter.app.kubernetes.jobs import check_jobs

        check_jobs(kubernetes, image, pod_namespace, coordination)
    members = {
        "kubernetes": kubernetes,
        "image": image,
        "pod_namespace": pod_namespace or "default",
        "objects": objects,
        "kubeconfig": kubeconfig,
        "kube_context": context,
        "coordination": _checked_coordination(coordination),
        "advertise": advertise,
        "roles": _checked_roles(roles),
    }
    raise typer.Exit(_start({**options, **members, "has_worker": False}, detach))


def _checked_coordination(url: str | None) -> str | None:
    if url is None:
        return None
    from shunter.app.coordination import check_coordination

    return check_coordination(url)


def _checked_roles(roles: str | None) -> str | None:
    if roles is None:
        return None
    from shunter.app.roles import check_roles

    return check_roles(roles)


def worker(
    manager: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT,...",
            help="The --workers-listen addresses of all managers. The worker finds the leader. Default: those in the"
            " join token.",
        ),
    ] = None,
    join_token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="File with the output of 'shunter join-token create'. Needed for the first start."
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File that contains the token for workers. Default: SHUNTER_WORKER_TOKEN."),
    ] = None,
    task_user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="User that runs the tasks; needed if the worker runs as root."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the node. Default: the host name.")] = None,
    cpu: Cpu = None,
    memory: Memory = None,
    resource: Resource = None,
    device: Device = None,
    label: Label = None,
    datacenter: Datacenter = None,
    otlp_endpoint: OtlpEndpoint = None,
) -> None:
    """Start a worker in the foreground, and join a cluster.

    Tasks continue to run when the worker stops; the next start finds them again.

    A worker that runs as root needs --task-user: its tasks run as that user and cannot read the worker's files. With
    --task-user root they can do everything on this machine.

    If the managers use TLS, a new worker enrols with a join token. Otherwise it needs the token for workers.

    \b
    shunter worker --join-token-file node-7.token
    shunter worker --manager 10.0.0.5:7071 --token-file worker-token --label disk=ssd
    shunter worker --manager 10.0.0.5:7071 --token-file worker-token --task-user batch
    shunter worker --manager 10.0.0.5:7071,10.0.0.6:7071,10.0.0.7:7071 --token-file worker-token
    """
    options = {
        "manager": _managers(manager, join_token_file),
        "token": "" if join_token_file is not None else _worker_token(token_file),
        "token_file": token_file,
        "join_token_file": join_token_file,
        **_tracing_options(otlp_endpoint),
        "machine": {"name": name, "task_user": task_user, **_machine(cpu, memory, resource, device, label, datacenter)},
    }
    from shunter.app.worker import run_worker

    raise typer.Exit(run_worker(_json(options)))


def version() -> None:
    """Print the version."""
    print(f"shunter {__version__}")


def _manager_options(
    listen: str | None,
    workers_listen: str | None,
    tls: bool,
    insecure: bool,
    policy: str | None,
    store: str | None,
    accept_loss: bool,
    name: str | None,
) -> dict[str, Any]:
    if store is not None:
        from shunter.app.storage.stores import check_store

        check_store(store)
    return {
        "listen": check_address(listen, "--listen"),
        "workers_listen": check_address(workers_listen, "--workers-listen"),
        "tls": tls,
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


def _tracing_options(otlp_endpoint: str | None) -> dict[str, Any]:
    if otlp_endpoint is not None:
        from shunter.app.diagnosis.tracing import check_otlp_endpoint

        check_otlp_endpoint(otlp_endpoint)
    return {"otlp_endpoint": otlp_endpoint}


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

        started = start_in_background(_json(options))
        _report_ignored(started, options)
        return _report_start(started, options["policy"])
    from shunter.app.options import UpOptions
    from shunter.app.serve import run

    return run(msgspec.json.decode(_json(options), type=UpOptions), partial(_report_ready, options))


def _report_ready(options: dict[str, Any], readiness: Readiness) -> None:
    from shunter.app.home import Home
    from shunter.app.up import StartResult, running_cluster

    if readiness.is_already_running:
        running = running_cluster(Home.find())
        if running is not None:
            _report_ignored(running, options)
        _report_start(running or StartResult(error="another cluster has just ended here; try again"))
    else:
        found = msgspec.structs.asdict(readiness)
        del found["is_already_running"]
        _report_start(StartResult(**found), options["policy"])


def _report_start(started: StartResult, policy: str | None = None) -> int:
    """Print the result of a start with `policy`. Returns the exit code."""
    if started.error:
        is_option = started.fields[:1] == ("policy",)
        print_error(f"{'--' if is_option else ''}{started.error}")
        return USAGE_ERROR if started.is_rejected else JOB_FAILED
    print_text(f"the cluster {'is already running' if started.was_running else 'is ready'} at {started.url}")
    if started.external:
        print_text(f"external schedulers connect over REST at {started.external}")
    if started.schedulers:
        print_text(f"external schedulers connect over gRPC at {started.schedulers}")
    if started.workers:
        print_text(f"workers join at {started.workers}")
    if policy and started.policy not in ("", policy):
        print_notice(
            f"the active policy is {started.policy}, which was chosen while the cluster ran; "
            f"change it with: shunter policies use {policy}"
        )
    return SUCCESS


def _report_ignored(started: StartResult, options: dict[str, Any]) -> None:
    """Options of `up` have no effect on a cluster that runs already."""
    given = dict(options) | options.get("machine", {})
    given.pop("machine", None)
    defaults = {"speed": 1.0, "has_worker": False}
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value and value != defaults.get(name)]
    if started.was_running and names:
        singular = {"--resources": "--resource", "--devices": "--device", "--labels": "--label"}
        listed = ", ".join(singular.get(name, name) for name in names)
        print_warning(f"ignored {listed}: the cluster runs already; stop it with `shunter down` first")


def _json(options: dict[str, Any]) -> bytes:
    """The given options as JSON, for `app.options`, which has the defaults."""
    return msgspec.json.encode({key: value for key, value in options.items() if value is not None})


def _managers(manager: str | None, join_token_file: str | None) -> str:
    if manager is not None:
        return check_addresses(manager, "--manager")
    if join_token_file is None:
        fix = "name the --workers-listen address of the manager, or give a join token with --join-token-file"
        raise Invalid([Problem("--manager", "is missing", fix=fix)])
    return ""


def _worker_token(token_file: str | None) -> str:
    fix = "copy `worker-token` from the manager's SHUNTER_HOME"
    if token_file is not None:
        return read_token_file(Path(token_file), fix)
    token = os.environ.pop(WORKER_TOKEN_VARIABLE, "")
    if not token and _has_certificate():
        return ""
    if not token:
        fix = "copy `worker-token` from the manager's SHUNTER_HOME; with TLS, give a join token with --join-token-file"
        raise Invalid([Problem("--token-file", "is missing", fix=fix)])
    return check_token(token, Problem(WORKER_TOKEN_VARIABLE, "does not look like a token", fix=fix))


def _has_certificate() -> bool:
    """Whether this home has the certificate of a worker, which then needs no token."""
    from shunter.app.home import Home

    return (Home.find().tls / "worker.crt").exists()
