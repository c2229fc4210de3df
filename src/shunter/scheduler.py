"""Public names for authors of schedulers: `from shunter.scheduler import Decision, ExternalScheduler, Room`.

Names are loaded at first use, so that importing this module stays cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shunter.model.objects.object_meta import ObjectName as ObjectName
    from shunter.model.objects.schedulings import SchedulingSpec as SchedulingSpec
    from shunter.model.objects.schedulings import SlotJob as SlotJob
    from shunter.planning.policy_toolkit import Room as Room
    from shunter.planning.view import ClusterView as ClusterView
    from shunter.planning.view import Decision as Decision
    from shunter.planning.view import Placement as Placement
    from shunter.planning.view import Policy as Policy
    from shunter.planning.view import Preemption as Preemption
    from shunter.planning.view import Queued as Queued
    from shunter.planning.view import SchedulingDraft as SchedulingDraft
    from shunter.planning.view import TaskClass as TaskClass
    from shunter.sdk.schedulers.driver import ExternalScheduler as ExternalScheduler

_MODULE_BY_NAME = {
    "ObjectName": "shunter.model.objects.object_meta",
    "SchedulingSpec": "shunter.model.objects.schedulings",
    "SlotJob": "shunter.model.objects.schedulings",
    "ExternalScheduler": "shunter.sdk.schedulers.driver",
    "Room": "shunter.planning.policy_toolkit",
    **dict.fromkeys(
        ("ClusterView", "Decision", "Placement", "Policy", "Preemption", "Queued", "SchedulingDraft", "TaskClass"),
        "shunter.planning.view",
    ),
}
__all__ = sorted(_MODULE_BY_NAME)


def __getattr__(name: str) -> Any:
    if name in _MODULE_BY_NAME:
        return getattr(import_module(_MODULE_BY_NAME[name]), name)
    raise AttributeError(f"shunter.scheduler has no {name}; it has {', '.join(sorted(_MODULE_BY_NAME))}")
