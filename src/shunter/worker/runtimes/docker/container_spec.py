"""Builds the request that creates the container of one attempt. Pure: the same launch gives the same container."""

from __future__ import annotations

from typing import Any

from shunter.model.job.spec import Mount, TaskSpec
from shunter.worker.runtimes.docker.daemon import Facts
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted

PAYLOAD_TARGET = "/shunter/payload"  # where a container finds what SHUNTER_PAYLOAD names
SECRETS_TARGET = "/shunter/secrets"
NANO_CPUS_PER_MILLI = 1_000_000
LOG_FILE_MAX = "32m"  # of the daemon's own log, which only bridges the time that no worker reads it
LOG_FILES_MAX = "2"
HOST_NETWORK = "host"
NO_NETWORK = "none"

HOME_LABEL = "shunter.home"  # an id of the home, by which its containers are known
ATTEMPT_LABEL = "shunter.attempt.id"  # JOB-GROUP-INDEX-ATTEMPT, in numbers


def container_config(launch: Launch, home_id: str, node: str, facts: Facts) -> dict[str, Any]:
    """The body of the create call. Raises NotStarted if the spec requests what no container can have."""
    spec, container = launch.spec, launch.spec.container
    if container is None:
        raise NotStarted("runtime docker: image is missing; set spec.image")
    if container.network == NO_NETWORK and spec.ports:
        raise NotStarted(f"port {spec.ports[0].name}: a container without a network has no ports; set network: bridge")
    config: dict[str, Any] = {
        "Image": container.image,
        "Env": [f"{key}={value}" for key, value in environment(launch).items()],
        "Labels": labels(launch, home_id, node),
        "HostConfig": host_config(launch, facts),
    }
    if spec.command:
        config["Entrypoint"] = list(spec.command)
    if container.args:
        config["Cmd"] = list(container.args)
    elif spec.command:
        config["Cmd"] = []  # the image's own words belong to its own entry point
    if spec.dir is not None:
        config["WorkingDir"] = spec.dir
    if spec.user is not None:
        config["User"] = spec.user
    if is_published(spec):
        config["ExposedPorts"] = {f"{port.port}/tcp": {} for port in spec.ports}
    return config


def environment(launch: Launch) -> dict[str, str]:
    """The task's variables. Where the container has a network of its own, SHUNTER_PORT_<NAME> is the port inside."""
    env = dict(launch.env)
    if is_published(launch.spec):
        for port in launch.spec.ports:
            env[f"SHUNTER_PORT_{port.name.upper().replace('-', '_')}"] = str(port.port)
    if launch.payload is not None:
        env["SHUNTER_PAYLOAD"] = PAYLOAD_TARGET
    if launch.secrets is not None:
        env["SHUNTER_SECRETS"] = SECRETS_TARGET
    return env


def host_config(launch: Launch, facts: Facts) -> dict[str, Any]:
    spec, container = launch.spec, launch.spec.container
    assert container is not None
    config: dict[str, Any] = {
        "Init": facts.has_init,  # a shell as the first process would ignore TERM, and would not reap children
        "NetworkMode": container.network,
        "CapDrop": ["ALL"],
        "CapAdd": list(container.cap_add),
        "SecurityOpt": ["no-new-privileges"],
        "PidsLimit": container.pids_max,
        "ReadonlyRootfs": container.read_only,
        "Mounts": [_mount(each) for each in spec.mounts],
    }
    if launch.payload is not None:
        config["Mounts"].append(_mount(Mount(str(launch.payload), PAYLOAD_TARGET, read_only=True)))
    if launch.secrets is not None:
        config["Mounts"].append(_mount(Mount(str(launch.secrets), SECRETS_TARGET, read_only=True)))
    if spec.cpu_milli > 0 and (not facts.cpus or spec.cpu_milli < facts.cpus * 1000):
        config["NanoCpus"] = spec.cpu_milli * NANO_CPUS_PER_MILLI  # the daemon refuses more than the machine has
    if spec.memory_bytes:
        config["Memory"] = config["MemorySwap"] = spec.memory_bytes  # together: no swap beyond it
    if is_published(spec):
        config["PortBindings"] = {
            f"{port.port}/tcp": [{"HostPort": str(launch.ports.get(port.name, port.host_port))}] for port in spec.ports
        }
    if not facts.is_podman:
        # Unlike the default log, this one keeps bytes that are not text.
        options = {"max-size": LOG_FILE_MAX, "max-file": LOG_FILES_MAX, "compress": "false"}
        config["LogConfig"] = {"Type": "local", "Config": options}
    if facts.has_nvidia and launch.devices.get("gpu"):
        ids = list(launch.devices["gpu"])
        config["DeviceRequests"] = [{"Driver": "nvidia", "DeviceIDs": ids, "Capabilities": [["gpu"]]}]
    return config


def labels(launch: Launch, home_id: str, node: str) -> dict[str, str]:
    """Labels by which people and the next worker process identify the container."""
    order, name = launch.order, launch.attempt
    return {
        HOME_LABEL: home_id,
        ATTEMPT_LABEL: format_attempt(name),
        "shunter.node": node,
        "shunter.namespace": order.namespace,
        "shunter.job": order.job_name,
        "shunter.group": order.group_name,
        "shunter.index": str(name.index),
        "shunter.attempt": str(name.number),
        "shunter.segment": str(launch.log.segment),
    }


def format_attempt(attempt: Attempt) -> str:
    return f"{attempt.job}-{attempt.group}-{attempt.index}-{attempt.number}"


def is_published(spec: TaskSpec) -> bool:
    """Whether its ports are those of a network of its own, and must be made known on the node."""
    return bool(spec.ports) and spec.container is not None and spec.container.network != HOST_NETWORK


def _mount(mount: Mount) -> dict[str, Any]:
    kind = "bind" if mount.source.startswith("/") else "volume"
    return {"Type": kind, "Source": mount.source, "Target": mount.target, "ReadOnly": mount.read_only}
