"""Pods that run tasks of Shunter Jobs: how one is made, and what is remembered of it. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from shunter.kube.install.crds import LABELS
from shunter.kube.pod import Pod, parse_instant_ms, read_pod
from shunter.kube.quantities import STORAGE
from shunter.model.job.spec import TaskSpec
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted

CLUSTER = "shunter.dev/cluster"  # a label: the id of the manager's home
ATTEMPT = "shunter.dev/attempt"  # a label: JOB-GROUP-INDEX-ATTEMPT, in numbers
CONTAINER = "task"
NAME_WORDS_MAX = 24  # characters of the job's name
_NOT_IN_NAMES = re.compile("[^a-z0-9]+")
_NOT_IN_LABELS = re.compile("[^A-Za-z0-9._-]+")
_STUCK = (
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerError",
    "CreateContainerConfigError",
)
_PULLS = {"missing": "IfNotPresent", "always": "Always", "never": "Never"}


class ContainerEnd(msgspec.Struct, frozen=True, gc=False):
    exit_code: int
    ended_ms: int
    reason: str
    message: str


class TaskPod(msgspec.Struct, frozen=True, gc=False):
    """Any pod; those of others have no `attempt`."""

    pod: Pod
    cluster: str = ""
    attempt: Attempt | None = None
    address: str = ""
    end: ContainerEnd | None = None
    stuck: str = ""  # why its container cannot start

    @property
    def name(self) -> ObjectName:
        return self.pod.name

    @property
    def version(self) -> int:
        return self.pod.version


@dataclass(frozen=True, slots=True)
class PodSettings:
    """`cluster` is the id of the manager's home; `image` runs commands that name none."""

    cluster: str
    namespace: str
    image: str


def pod_name(launch: Launch, settings: PodSettings) -> str:
    """It names one attempt in the whole Kubernetes cluster, also beside other managers of the namespace."""
    word = _NOT_IN_NAMES.sub("-", launch.order.job_name.lower())[:NAME_WORDS_MAX].strip("-")
    return f"{word or 'job'}-{format_attempt(launch.attempt)}-{settings.cluster[:8]}"


def format_attempt(attempt: Attempt) -> str:
    return f"{attempt.job}-{attempt.group}-{attempt.index}-{attempt.number}"


def task_pod(launch: Launch, node: str, settings: PodSettings) -> Document:
    """A pod on this node. Raises NotStarted if the spec asks for what no pod can have."""
    spec, order, container = launch.spec, launch.order, launch.spec.container
    _check(spec)
    labels = {
        **LABELS,
        CLUSTER: settings.cluster,
        ATTEMPT: format_attempt(launch.attempt),
        "shunter.dev/namespace": _label(order.namespace),
        "shunter.dev/job": _label(order.job_name),
        "shunter.dev/group": _label(order.group_name),
    }
    made: Document = {
        "name": CONTAINER,
        "image": container.image if container is not None else settings.image,
        "imagePullPolicy": _PULLS.get(container.pull if container is not None else "missing", "IfNotPresent"),
        "env": [{"name": name, "value": _literal(value)} for name, value in sorted(_environment(launch).items())],
        "resources": _resources(spec),
        "securityContext": _security(spec),
        **({"command": [_literal(word) for word in spec.command]} if spec.command else {}),
        **({"args": [_literal(word) for word in container.args]} if container is not None and container.args else {}),
        **({"workingDir": spec.dir} if spec.dir is not None else {}),
        **({"ports": _ports(launch)} if spec.ports and not _is_on_host(spec) else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod_name(launch, settings), "namespace": settings.namespace, "labels": labels},
        "spec": {
            "nodeName": node,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": grace_s(spec),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            # The first process would ignore TERM, and would not reap children.
            "shareProcessNamespace": True,
            "hostNetwork": _is_on_host(spec),
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [made],
        },
    }


def grace_s(spec: TaskSpec) -> int:
    """Whole seconds, and more than ours: we decide when it is killed, the kubelet only if we are gone."""
    return math.ceil(spec.stop_grace_s) + 1


def read_task_pod(document: Document) -> TaskPod:
    pod, labels = read_pod(document), document["metadata"].get("labels") or {}
    attempt = _read_attempt(labels.get(ATTEMPT, "")) if CLUSTER in labels else None
    if attempt is None:
        return TaskPod(pod)
    status = document.get("status") or {}
    state = next((each.get("state") or {} for each in status.get("containerStatuses") or ()), {})
    waiting = state.get("waiting") or {}
    stuck = f"{waiting['reason']}: {waiting.get('message', '')}" if waiting.get("reason") in _STUCK else ""
    return TaskPod(pod, labels[CLUSTER], attempt, status.get("podIP", ""), _read_end(state), stuck)


def _read_end(state: Document) -> ContainerEnd | None:
    ended = state.get("terminated")
    if not ended:
        return None
    at_ms = parse_instant_ms(ended["finishedAt"]) if ended.get("finishedAt") else 0
    return ContainerEnd(ended["exitCode"], at_ms, ended.get("reason", ""), ended.get("message", ""))


def _read_attempt(text: str) -> Attempt | None:
    numbers = text.split("-")
    return Attempt(*map(int, numbers)) if len(numbers) == 4 and all(each.isdecimal() for each in numbers) else None


# ---- parts of a pod ----


def _check(spec: TaskSpec) -> None:
    lacking = {
        "mounts": bool(spec.mounts),
        "payload": spec.payload is not None,
        "secrets": bool(spec.secrets),
        "stdout": spec.stdout is not None or spec.stderr is not None,
        "stop_after": spec.stop_after_s > 0,
        "user": spec.user is not None and not spec.user.isdecimal(),
    }
    for field, is_given in lacking.items():
        if is_given:
            fix = "write it as a number" if field == "user" else "remove it, or run the job on Shunter's own workers"
            raise NotStarted(f"{field}: a pod cannot have this; {fix}")


def _environment(launch: Launch) -> Mapping[str, str]:
    """SHUNTER_PORT_<NAME> is the port inside of the pod, which has a network of its own."""
    env = dict(launch.env)
    for port in launch.spec.ports if not _is_on_host(launch.spec) else ():
        env[f"SHUNTER_PORT_{port.name.upper().replace('-', '_')}"] = str(inner_port(launch, port.name))
    return env


def inner_port(launch: Launch, name: str) -> int:
    port = next(each for each in launch.spec.ports if each.name == name)
    return port.port or launch.ports.get(name, port.host_port)


def _ports(launch: Launch) -> list[Document]:
    return [
        {"containerPort": inner_port(launch, each.name), "hostPort": launch.ports.get(each.name, each.host_port)}
        for each in launch.spec.ports
    ]


def _is_on_host(spec: TaskSpec) -> bool:
    return spec.container is not None and spec.container.network == "host"


def _resources(spec: TaskSpec) -> Document:
    """Requests are what the planner has reserved. CPU is limited to it too, as in a container of Shunter's own."""
    amounts = {"cpu": f"{spec.cpu_milli}m" if spec.cpu_milli else ""}
    amounts |= {"memory": str(spec.memory_bytes or ""), STORAGE: str(spec.disk_bytes or "")}
    amounts |= {name: str(count) for name, count in spec.devices.items()}
    given = {name: amount for name, amount in amounts.items() if amount and amount != "0"}
    return {"requests": given, "limits": given}


def _security(spec: TaskSpec) -> Document:
    container = spec.container
    capabilities: Document = {"drop": ["ALL"]}
    if container is not None and container.cap_add:
        capabilities["add"] = [each.removeprefix("CAP_") for each in container.cap_add]
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": capabilities,
        "readOnlyRootFilesystem": container is not None and container.read_only,
        **({"runAsUser": int(spec.user)} if spec.user is not None else {}),
    }


def _label(text: str) -> str:
    return _NOT_IN_LABELS.sub("-", text)[:63].strip("-._")


def _literal(value: str) -> str:
    """Kubernetes would replace $(NAME); $$ stands for one dollar sign."""
    return value.replace("$(", "$$(")
