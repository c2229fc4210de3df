"""Templates in the reference model: every due time fires at most once, in order, and none is skipped silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from shunter.engine import changes as c
from shunter.model.job.schedules import firings_ms, next_firing_ms
from shunter.model.job.spec import JobSpec, Schedule
from shunter.simulation.checks.reference_records import require

if TYPE_CHECKING:
    from shunter.simulation.checks.reference_model import ReferenceModel

_decoder = msgspec.msgpack.Decoder(JobSpec)
LATE_MAX_MS = 1_000  # a firing is dealt with so soon while a manager leads


@dataclass(slots=True)
class ModelTemplate:
    spec: JobSpec
    handled_until_ms: int  # up to here all due times are accounted for
    is_paused: bool = False

    @property
    def schedule(self) -> Schedule | None:
        return self.spec.options.schedule

    @property
    def overlap(self) -> str:
        return self.schedule.overlap if self.schedule is not None else ""

    def next_ms(self) -> int | None:
        if self.schedule is None or self.is_paused:
            return None
        return next_firing_ms(self.schedule.cron, self.schedule.timezone, self.handled_until_ms)


class ModelTemplates:
    def __init__(self) -> None:
        self.by_name: dict[tuple[str, str], ModelTemplate] = {}
        self.ids: set[int] = set()  # of all that there ever were
        self.firings = 0

    def set(self, change: c.TemplateSet) -> None:
        spec, name = _decoder.decode(bytes(change.spec)), (change.namespace, change.name)
        known = self.by_name.get(name)
        self.ids.add(change.id)
        handled_until_ms = change.at_ms
        if known is not None and known.schedule == spec.options.schedule:
            handled_until_ms = known.handled_until_ms
        self.by_name[name] = ModelTemplate(spec, handled_until_ms, known is not None and known.is_paused)

    def paused(self, change: c.TemplatePaused) -> None:
        template = self.by_name[change.namespace, change.name]
        template.is_paused = change.is_paused
        if not change.is_paused:
            template.handled_until_ms = max(template.handled_until_ms, change.at_ms)

    def dropped(self, change: c.TemplateDropped) -> None:
        del self.by_name[change.namespace, change.name]

    def fired(self, model: ReferenceModel, change: c.TemplateFired) -> None:
        """Together with the run that it made. Due times may be passed over only by saying so, as catch_up allows."""
        name = (change.namespace, change.name)
        template, where = self.by_name[name], f"template {change.name}"
        if change.job:
            job = model.jobs.get(change.job)
            is_own_run = (
                job is not None and change.job in model.submitted_in_round and (job.namespace, job.name) == name
            )
            require(is_own_run, f"{where} fired as job {change.job}, which was not made for it")
        if not change.due_ms:
            return
        schedule = template.schedule
        assert schedule is not None
        self.firings += 1
        require(not template.is_paused, f"{where} fired while it was paused")
        require(change.due_ms > template.handled_until_ms, f"{where} fired twice for {change.due_ms}")
        require(change.due_ms <= model.now_ms, f"{where} fired {change.due_ms - model.now_ms} ms too early")
        due = list(firings_ms(schedule.cron, schedule.timezone, template.handled_until_ms, change.due_ms))
        require(bool(due) and due[-1] == change.due_ms, f"{where} fired at {change.due_ms}, when nothing is due")
        if len(due) > 1:
            is_recorded = not change.job and schedule.catch_up != "all"
            require(is_recorded, f"{where} passed over {len(due) - 1} firings silently")
        if change.job and schedule.overlap == "skip" and schedule.catch_up == "none":
            other_runs = [job.id for job in model.runs_of(*name) if job.id != change.job]
            require(not other_runs, f"{where} fired while jobs {other_runs} had not ended (overlap skip)")
        template.handled_until_ms = change.due_ms

    def overdue(self, now_ms: int) -> list[str]:
        """Templates with a due time that was not processed, although there was time."""
        return [
            name
            for (_, name), template in self.by_name.items()
            if (due_ms := template.next_ms()) is not None and due_ms + LATE_MAX_MS < now_ms
        ]
