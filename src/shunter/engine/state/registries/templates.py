"""Templates: stored jobs that a schedule or a dispatch runs. `engine.jobs.templates` decides about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.model.job.schedules import next_firing_ms
from shunter.model.job.spec import JobSpec

_decoder = msgspec.msgpack.Decoder(JobSpec)


@dataclass(slots=True)
class Template:
    id: int
    namespace: str
    name: str
    body: bytes
    user: str
    updated_ms: int
    spec: JobSpec
    is_paused: bool = False
    fired_ms: int = 0  # the schedule's firings are processed up to here
    last_job: int = 0  # the newest run made from it
    skipped_ms: int = 0  # when a firing last made no run, and why
    skipped_because: str = ""
    next_ms: int | None = None  # derived from the rest

    @property
    def is_scheduled(self) -> bool:
        return self.spec.options.schedule is not None

    def update_next_firing(self) -> None:
        schedule = self.spec.options.schedule
        self.next_ms = None
        if schedule is not None and not self.is_paused:
            self.next_ms = next_firing_ms(schedule.cron, schedule.timezone, self.fired_ms)


class TemplateRegistry:
    def __init__(self) -> None:
        self.by_id: dict[int, Template] = {}
        self._by_name: dict[tuple[str, str], Template] = {}

    def get(self, namespace: str, name: str) -> Template | None:
        return self._by_name.get((namespace, name))

    def set(self, change: c.TemplateSet) -> None:
        """Called by the state, which assigns the ids."""
        body = bytes(change.spec)
        spec = _decoder.decode(body)
        existing = self.get(change.namespace, change.name)
        if existing is None:
            existing = Template(change.id, change.namespace, change.name, body, change.user, change.at_ms, spec)
            existing.fired_ms = change.at_ms
            self._add(existing)
        else:
            if existing.spec.options.schedule != spec.options.schedule:
                existing.fired_ms = max(existing.fired_ms, change.at_ms)
            existing.body, existing.spec, existing.user, existing.updated_ms = body, spec, change.user, change.at_ms
        existing.update_next_firing()

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.TemplatePaused: self._paused, c.TemplateDropped: self._dropped, c.TemplateFired: self._fired}

    def dump(self) -> list[list[Any]]:
        return [
            [
                template.id, template.namespace, template.name, template.body, template.user, template.updated_ms,
                template.is_paused, template.fired_ms, template.last_job, template.skipped_ms, template.skipped_because,
            ]
            for template in self.by_id.values()
        ]  # fmt: skip

    def load(self, dump: list[list[Any]]) -> None:
        for id, namespace, name, body, user, updated_ms, *other_fields in dump:
            template = Template(id, namespace, name, body, user, updated_ms, _decoder.decode(body), *other_fields)
            self._add(template)
            template.update_next_firing()

    def _add(self, template: Template) -> None:
        self.by_id[template.id] = template
        self._by_name[template.namespace, template.name] = template

    def _paused(self, change: c.TemplatePaused) -> None:
        """Firings that were due while it was paused are not made up for."""
        template = self._by_name[change.namespace, change.name]
        template.is_paused = change.is_paused
        if not change.is_paused:
            template.fired_ms = max(template.fired_ms, change.at_ms)
        template.update_next_firing()

    def _dropped(self, change: c.TemplateDropped) -> None:
        template = self._by_name.pop((change.namespace, change.name))
        del self.by_id[template.id]

    def _fired(self, change: c.TemplateFired) -> None:
        template = self._by_name[change.namespace, change.name]
        if change.job:
            template.last_job = change.job
        else:
            template.skipped_ms, template.skipped_because = change.at_ms, change.reason
        if change.due_ms:
            template.fired_ms = max(template.fired_ms, change.due_ms)
            template.update_next_firing()
