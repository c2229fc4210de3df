"""The resources of Kubernetes that the operator reads or writes, and the labels and annotations of its pods."""

from __future__ import annotations

from shunter.kube.client.api import PODS, Resource
from shunter.kube.install import crds
from shunter.model.objects.objects import GROUP, PLURALS, VERSION

__all__ = ["PODS"]

NODES = Resource("", "v1", "nodes", is_namespaced=False)
OBJECTS = {kind: Resource(GROUP, VERSION, plural) for plural, kind in PLURALS.items()}

PAST_SCHEDULINGS = Resource(GROUP, VERSION, crds.PAST_SCHEDULINGS)

ROLE = "shunter.dev/role"  # a label
GHOST, EXECUTOR, DRIVER = "ghost", "executor", "driver"
# As labels these have a name, for people who select pods; as annotations `namespace/name`, which the operator reads.
TESTBED = "shunter.dev/testbed"
BATCH_JOB = "shunter.dev/batchjob"
SCHEDULING = "shunter.dev/scheduling"
# Annotations.
PLACE = "shunter.dev/place"  # node/position
PLACES = "shunter.dev/places"  # all of the run, of pods that an operator of others has made
EXECUTOR_INDEX = "shunter.dev/executor"
SLOT_IDS = "shunter.dev/slot-ids"
REPLICATION = "shunter.dev/replication"
