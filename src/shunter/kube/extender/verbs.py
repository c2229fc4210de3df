"""The filter and preemption verbs of a kube-scheduler extender, in its v1 JSON. They send each executor to the node of
its slot, and name its ghost pod as the only victim, whatever kube-scheduler has proposed. Pure.

They believe nothing about a pod but its uid: what it is for is read from the operator's own view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from shunter.kube import resources
from shunter.kube.pod import Pod
from shunter.model.errors import Invalid, Problem, Unavailable
from shunter.model.objects.object_meta import Document, ObjectName


class Pods(Protocol):
    """What the verbs look at."""

    def pod(self, name: ObjectName) -> Pod | None: ...

    def slot_pods(self, pod: Pod) -> Iterable[Pod]:
        """All pods at the slot of an executor, the executor too."""
        ...


def filter_nodes(arguments: Document, pods: Pods) -> Document:
    """Exactly the slot's node if it is among the candidates; otherwise none, which makes kube-scheduler preempt."""
    names = _candidates(arguments)
    pod = _executor(arguments, pods)
    if pod is None:
        return _result(arguments, names, {})
    assert pod.assignment is not None
    place = pod.assignment.place
    busy = _occupant(pod, pods)
    if busy is not None:
        return _result(arguments, [], dict.fromkeys(names, f"its slot is still used by pod {busy.name}"))
    wanted = [name for name in names if name == place.node]
    failed = {name: f"its slot is on node {place.node}" for name in names if name != place.node}
    return _result(arguments, wanted, failed)


def choose_victims(arguments: Document, pods: Pods) -> Document:
    """The ghost pod of the slot. Nobody if it is gone already: kube-scheduler tries again then."""
    proposed = arguments.get("NodeNameToMetaVictims") or arguments.get("NodeNameToVictims") or {}
    pod = _executor(arguments, pods)
    if pod is None:  # of somebody else: what kube-scheduler has proposed
        return {"NodeNameToMetaVictims": {node: _meta_victims(victims) for node, victims in proposed.items()}}
    assert pod.assignment is not None
    node = pod.assignment.place.node
    ghosts = [each for each in pods.slot_pods(pod) if each.is_ghost and not each.has_ended]
    if node not in proposed or not ghosts or _occupant(pod, pods) is not None:
        return {"NodeNameToMetaVictims": {}}
    victims = {"Pods": [{"UID": ghost.uid} for ghost in ghosts], "NumPDBViolations": 0}
    return {"NodeNameToMetaVictims": {node: victims}}


def _executor(arguments: Document, pods: Pods) -> Pod | None:
    """None for pods that have no slot. Raises Unavailable for an executor that the operator has not seen yet."""
    document = arguments.get("Pod")
    try:
        metadata = document["metadata"]  # type: ignore[index]
        name, uid = ObjectName(metadata["namespace"], metadata["name"]), metadata["uid"]
        labels = metadata.get("labels") or {}
    except (KeyError, TypeError, AttributeError):
        raise Invalid([Problem("Pod", "must be a pod with a name, namespace and uid")]) from None
    found = pods.pod(name)
    if found is not None and found.uid == uid and found.is_executor:
        return found
    if labels.get(resources.ROLE) == resources.EXECUTOR:
        raise Unavailable(f"pod {name} has no slot yet")
    return None


def _occupant(pod: Pod, pods: Pods) -> Pod | None:
    """The executor of another run that has not left the slot."""
    others = (each for each in pods.slot_pods(pod) if each.is_executor and each.uid != pod.uid and not each.has_ended)
    return next(others, None)


def _candidates(arguments: Document) -> list[str]:
    if arguments.get("NodeNames") is not None:
        return [str(name) for name in arguments["NodeNames"]]
    return [item["metadata"]["name"] for item in (arguments.get("Nodes") or {}).get("items") or ()]


def _result(arguments: Document, names: list[str], failed: Mapping[str, str]) -> Document:
    """In the form of the question: whole nodes, or names of nodes that kube-scheduler knows itself."""
    answer: Document = {"FailedNodes": dict(failed), "FailedAndUnresolvableNodes": {}, "Error": ""}
    if arguments.get("NodeNames") is not None:
        return {**answer, "NodeNames": names, "Nodes": None}
    kept = [each for each in (arguments.get("Nodes") or {}).get("items") or () if each["metadata"]["name"] in names]
    return {**answer, "Nodes": {"items": kept}, "NodeNames": None}


def _meta_victims(victims: Document) -> Document:
    found = victims.get("Pods") or ()
    uids = [each.get("UID") or (each.get("metadata") or {}).get("uid") for each in found]
    return {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": victims.get("NumPDBViolations", 0)}
