"""The sub-gateway `dead_letters`: list, replay and purge tasks that failed after their last restart. Implements
`ports.admin.DeadLetterService`."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import decode_summary
from shunter.engine.jobs.rerun import indexes_by_group, rerun_spec
from shunter.engine.state.registries.dead_letters import DeadLetter
from shunter.gateway.jobs.rerun import spec_of, submitted_job
from shunter.gateway.scope import Scope
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import LONG_RUNNING, PER_NODE, JobSpec
from shunter.model.rest.admin_views import DeadPage, DeadView, Replayed
from shunter.model.timestamps import iso
from shunter.ports.admin import DeadLetterSelector
from shunter.ports.principals import Principal
from shunter.ports.store import Store


class DeadLetters:
    def __init__(self, caller: Principal, engine: Engine, store: Store, scope: Scope) -> None:
        self._caller, self._engine, self._store, self._scope = caller, engine, store, scope

    async def page(self, namespace: str | None, job: str | None, limit: int, after: str | None) -> DeadPage:
        """The cursor is the number of the last letter."""
        await self._engine.wait_committed()
        letters = [
            letter
            for letter in self._engine.state.dead_letters.letters.values()
            if namespace in (None, letter.namespace)
            and job in (None, letter.name)
            and self._scope.sees(letter.namespace)
        ]
        remaining = [letter for letter in letters if after is None or letter.number > int(after)]
        items = [_dead_view(letter) for letter in remaining[:limit]]
        return DeadPage(items, str(items[-1].number) if len(remaining) > limit else None, len(letters))

    async def replay(self, selector: DeadLetterSelector) -> Replayed:
        letters = await self._select_letters(selector)
        is_explicit = bool(selector.numbers) or selector.job is not None
        specs: list[JobSpec] = []
        numbers: list[int] = []
        skipped = 0
        for job_id in dict.fromkeys(letter.job for letter in letters):
            job_letters = [letter for letter in letters if letter.job == job_id]
            spec = await self._rerunnable_spec(job_letters[0], is_explicit)
            is_duplicate = (
                any((spec.namespace, spec.name) == (each.namespace, each.name) for each in specs) if spec else False
            )
            if spec is None or is_duplicate:  # one run at a time: replay these when the other has ended
                skipped += len(job_letters)
                continue
            specs.append(rerun_spec(spec, indexes_by_group((letter.group, letter.index) for letter in job_letters)))
            numbers += [letter.number for letter in job_letters]
        runs = await self._engine.replay(numbers, specs, self._caller.user) if specs else []
        return Replayed([submitted_job(run) for run in runs], skipped)

    async def purge(self, selector: DeadLetterSelector) -> int:
        numbers = [letter.number for letter in await self._select_letters(selector)]
        await self._engine.purge_dead(numbers, self._caller.user)
        return len(numbers)

    async def _select_letters(self, selector: DeadLetterSelector) -> list[DeadLetter]:
        await self._engine.wait_committed()
        letters = self._engine.state.dead_letters.letters
        for number in selector.numbers:
            if number not in letters or not self._scope.sees(letters[number].namespace):
                raise NotFound(f"dead letter {number} does not exist; `shunter dead` lists all")
        found = [letters[number] for number in sorted(set(selector.numbers))] if selector.numbers else letters.values()
        return [
            letter
            for letter in found
            if selector.namespace in (None, letter.namespace)
            and selector.job in (None, letter.name)
            and self._scope.sees(letter.namespace)
        ]

    async def _rerunnable_spec(self, letter: DeadLetter, is_explicit: bool) -> JobSpec | None:
        """The spec of a letter's run. If it cannot run now: None, or an error if the selector names the letter."""
        state = self._engine.state
        refusal: Conflict | NotFound | None = None
        spec: JobSpec | None = None
        unfinished = state.find_job(letter.namespace, letter.name)
        if unfinished is not None and state.templates.get(letter.namespace, letter.name) is None:
            refusal = Conflict(f"run {unfinished.run} of job '{letter.name}' has not ended; wait for it, or stop it")
        else:
            finished = await self._store.finished_job(letter.job)
            if finished is None:
                refusal = NotFound(f"{letter.name}@{letter.run} is no longer in history; purge letter {letter.number}")
            else:
                spec = spec_of(decode_summary(finished.summary))
                if spec.type in LONG_RUNNING or spec.type in PER_NODE:
                    refusal = Conflict(
                        f"job '{letter.name}' is a {spec.type} job; submit or retry the whole job instead"
                    )
        if refusal is not None and is_explicit:
            raise refusal
        return spec if refusal is None else None


def _dead_view(letter: DeadLetter) -> DeadView:
    inner = "" if letter.group == "main" else f"{letter.group}/"
    index = letter.index if letter.visible_index is None else letter.visible_index
    return DeadView(
        name=f"{letter.name}@{letter.run}/{inner}{index}",
        number=letter.number,
        namespace=letter.namespace,
        job=letter.name,
        run=letter.run,
        group=letter.group,
        index=index,
        exit_code=letter.exit_code if letter.exit_code >= 0 else None,
        reason=letter.reason,
        at=iso(letter.at_ms / 1000) or "",
    )
