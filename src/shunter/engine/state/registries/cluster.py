"""Settings of the whole cluster that are changed live and survive a restart: the active policy, licences, ...

A name without an entry has its default, which the reader of the setting knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shunter.engine import changes as c
from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.rest.admin_fields import OFF

HEARTBEAT_SETTING = "heartbeat"  # seconds
PREEMPTION_SETTING = "preemption"  # how much higher a priority must be to preempt others' tasks, or off
RESERVE_SETTING = "reserve_after"  # seconds that a single task waits before it gets a reservation, or off
HOLD_SETTING = "hold_after"  # seconds before room is held whose end is unknown, or off
POLICY_SETTING = "policy"  # the active policy
FALLBACK_SETTING = "fallback"  # the policy that decides while an external scheduler is silent
LEASE_SETTING = "lease"  # seconds for which a scheduler may be silent
FLIGHT_SETTING = "flight"  # off if decisions are not recorded
TOKEN_RESET_SETTING = "token_reset"  # when the admin token was last replaced
PREEMPTION_OFF_GAP = 1_000  # larger than any difference of priorities


class ClusterSettingsRegistry:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)

    def licences(self) -> dict[str, int]:
        """The number of each licence in the cluster, by the name of the resource."""
        return {name: int(value) for name, value in self.values.items() if name.startswith(LICENCE_PREFIX)}

    def preempt_gap(self) -> int | None:
        """None means the policy's default."""
        value = self.get(PREEMPTION_SETTING)
        return None if not value else int(value) if value.isdigit() else PREEMPTION_OFF_GAP

    def wait_s(self, name: str) -> float | None:
        """The value of a waiting-time setting. None means the policy's default."""
        value = self.get(name)
        return None if not value else float("inf") if value == OFF else float(value)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.ClusterSet: self._set}

    def dump(self) -> dict[str, str]:
        return dict(sorted(self.values.items()))

    def load(self, dump: dict[str, str]) -> None:
        self.values = dict(dump)

    def _set(self, change: c.ClusterSet) -> None:
        if change.value:
            self.values[change.name] = change.value
        else:
            self.values.pop(change.name, None)
