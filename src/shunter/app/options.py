"""Command-line options to start a cluster, a manager or a worker. The CLI creates them and sends them to the background
process as JSON. config.toml supplies what they leave out: see `app.config`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import msgspec

from shunter.model.errors import Invalid, Problem
from shunter.model.resources import CPU, DISK, MEMORY, parse_amount

LISTEN_DEFAULT = "127.0.0.1:0"  # a free port
DEVICES_MAX = 1024  # of one kind
DEVICE_KIND_PATTERN = r"[a-z]([a-z0-9._/-]{0,61}[a-z0-9])?"
DEVICE_PATTERN = r"[A-Za-z0-9/][A-Za-z0-9._:/-]{0,127}"
SIMULATED_NODES_MAX = 100_000
MANAGERS_MAX = 32  # that a worker is told of


class MachineOptions(msgspec.Struct, kw_only=True):
    """The properties of this machine as a node."""

    name: str | None = None
    cpu: str | None = None
    memory: str | None = None
    datacenter: str | None = None
    labels: dict[str, str] = {}
    resources: dict[str, str] = {}
    task_user: str | None = None  # who runs the tasks of a worker of root
    devices: dict[str, str] = {}  # kind -> ids, separated by commas

    def capacity(self) -> dict[str, int]:
        """The resources given by hand, in inner amounts. Raises Invalid."""
        return parse_capacity({**self.resources, CPU: self.cpu, MEMORY: self.memory})

    def device_ids(self) -> dict[str, tuple[str, ...]]:
        """The devices given by hand. Raises Invalid."""
        found = {kind: tuple(id.strip() for id in text.split(",")) for kind, text in self.devices.items()}
        for kind, ids in found.items():
            check_devices("--device", kind, ids)
        return found


class UpOptions(msgspec.Struct, kw_only=True):
    """If a value is None here and missing in config.toml, `app.manager` applies the default."""

    machine: MachineOptions = msgspec.field(default_factory=MachineOptions)
    listen: str | None = None
    workers_listen: str | None = None  # HOST:PORT for remote workers; None: none may join a cluster with its own worker
    insecure: bool = False  # let others than this machine reach a port without TLS
    tls: bool = False  # on every listener; with certificates of the home's own authority unless others are named
    tls_cert: str | None = None  # file
    tls_key: str | None = None  # file
    tls_ca: str | None = None  # file with the authorities of other managers and of workers; None: the home's
    tls_worker_token: bool = False  # workers need no certificate, but the token that they share
    tls_hosts: tuple[str, ...] = ()  # further names at which others reach this manager
    external_listen: str | None = None  # HOST:PORT of a listener for /external and /scheduler only
    external_open: bool = False  # that listener asks for no token
    external_grpc: str | None = None  # HOST:PORT of the gRPC listener for external schedulers; None: no listener
    external_absent_304: bool = False  # deleting a Scheduling that does not exist is 304, not 404
    has_worker: bool = True
    simulate_nodes: int = 0
    speed: float = 1.0
    policy: str | None = None
    store: str | None = None  # sqlite, memory, or the URL of a PostgreSQL database without a password
    objects: str | None = None  # where Testbeds, BatchJobs and Schedulings are: kubernetes; None: in the store
    kubernetes: bool = False  # run jobs as pods
    image: str | None = None  # of pods whose jobs name none
    pod_namespace: str = "default"
    kubeconfig: str | None = None  # for jobs and objects on Kubernetes; None: as `shunter operator` finds it
    kube_context: str | None = None
    coordination: str | None = None  # URL of etcd, where several managers elect their leader; None: this one is alone
    roles: str | None = None  # of a manager, separated by commas; None: all
    limits: str | None = None  # URL of a Redis where several managers count requests together; None: each by itself
    requests_per_s: int = 0  # of each user; 0: no limit
    requests_burst: int = 0  # how many may come at once; 0: as many as in a second
    advertise: str | None = None  # host at which others reach this manager; None: that of each listener
    accept_loss: bool = False  # start although committed work is missing from the store
    secrets_key_file: str | None = None  # with the keys that encrypt secrets; None: in the home
    oidc_issuer: str | None = None  # URL of an OpenID Connect issuer whose tokens are accepted; None: none
    oidc_client_id: str | None = None  # as the issuer knows this cluster
    oidc_audiences: tuple[str, ...] = ()  # a token must be for one of them; empty: for the client
    oidc_role_map: tuple[str, ...] = ()  # GROUP=ROLE or GROUP=ROLE@TENANT
    oidc_user_claim: str | None = None
    oidc_groups_claim: str | None = None
    oidc_scopes: tuple[str, ...] = ()
    oidc_clock_skew_s: float | None = None
    oidc_ca: str | None = None  # file with the authorities of the issuer; None: those of the system
    authenticators: tuple[str, ...] = ()  # plugins that authenticate, by name
    otlp_endpoint: str | None = None  # URL of an OTLP receiver for traces; None: no tracing
    name: str | None = None
    task_umask: int | None = None  # of tasks, because the manager's own files are for nobody else

    @property
    def has_tls(self) -> bool:
        return self.tls or self.tls_cert is not None


class WorkerOptions(msgspec.Struct, kw_only=True):
    manager: str  # HOST:PORT of each manager, separated by commas; empty: those that the join token names
    token: str
    token_file: str | None = None  # where the token comes from; tasks must not see it
    join_token_file: str | None = None  # tasks must not see it either
    otlp_endpoint: str | None = None  # URL of an OTLP receiver for traces; None: no tracing
    machine: MachineOptions = msgspec.field(default_factory=MachineOptions)


def parse_capacity(given: dict[str, Any]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for resource, text in given.items():
        if text is None:
            continue
        try:
            amounts[resource] = parse_amount(resource, text)
        except ValueError as error:
            fix = "write it like 4 or 500m" if resource == CPU else "write it like 2 or 512Mi"
            option = f"--{resource}" if resource in (CPU, MEMORY) else f"--resource {resource}"
            raise Invalid([Problem(option, str(error), text, fix)]) from None
    return amounts


def check_devices(option: str, kind: str, ids: Sequence[str]) -> None:
    """Raises Invalid where a kind or an id is none, or an id comes twice."""
    given_text = f"{kind}={','.join(ids)}"
    if kind in (CPU, MEMORY, DISK) or not re.fullmatch(DEVICE_KIND_PATTERN, kind):
        raise Invalid([Problem(option, "is not a device type", given_text, "write it like gpu=0,1")])
    if not ids or len(ids) > DEVICES_MAX or not all(re.fullmatch(DEVICE_PATTERN, id) for id in ids):
        fix = f"write 1 to {DEVICES_MAX} ids of letters, digits and . _ : / -, like gpu=0,1"
        raise Invalid([Problem(option, "does not list device ids", given_text, fix)])
    if len(set(ids)) < len(ids):
        raise Invalid([Problem(option, "names the same device twice", given_text, "name each id once")])


def parse_address(text: str, option: str) -> tuple[str, int]:
    """HOST:PORT. Raises Invalid."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise Invalid([Problem(option, "is not a valid address", text, "write it as HOST:PORT, like 127.0.0.1:7700")])
    return host.strip("[]") or "127.0.0.1", int(port)


def format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_addresses(text: str, option: str) -> list[str]:
    """HOST:PORT, several separated by commas. Raises Invalid."""
    addresses = list(dict.fromkeys(each.strip() for each in text.split(",")))
    if len(addresses) > MANAGERS_MAX:
        raise Invalid(
            [Problem(option, f"has more than {MANAGERS_MAX} addresses", len(addresses), "name fewer managers")]
        )
    for address in addresses:
        parse_address(address, option)
    return addresses


def is_loopback(host: str) -> bool:
    """Only an address, or `localhost`: any other name may mean any machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
