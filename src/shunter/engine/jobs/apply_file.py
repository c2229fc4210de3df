"""Taking in files that have jobs and objects together: all of it or nothing. Called by the engine's rounds."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine.jobs.dependencies import NO_PAST, Past
from shunter.engine.jobs.submit import Submitted, known_by_key, on_submit
from shunter.engine.objects.apply import UNCHANGED, Taken, check_drafts, take
from shunter.engine.round import Round
from shunter.model.errors import Invalid
from shunter.model.files.mixed_files import KEY_OF_ANOTHER, Part, in_whole_file
from shunter.model.job.spec import JobSpec
from shunter.model.objects.objects import Draft


@dataclass(frozen=True, slots=True)
class MixedFile:
    """What was read of a file, and where its parts stand there."""

    specs: list[JobSpec]
    drafts: list[Draft]
    jobs: Part
    objects: Part


def on_file(
    round: Round, file: MixedFile, user: str, key: str | None, past: Past = NO_PAST
) -> tuple[list[Submitted], list[Taken]]:
    """Neither part's checks depend on the other, so that both are made before anything is recorded. A key that is known
    means that all of it was taken then."""
    known = known_by_key(round, key)
    if known is not None:
        if len(known) != len(file.specs):
            raise Invalid([KEY_OF_ANOTHER])
        return known, [Taken(draft.kind, draft.name, UNCHANGED) for draft in file.drafts]
    with in_whole_file(file.objects):
        check_drafts(round, file.drafts)
    with in_whole_file(file.jobs):
        submitted = on_submit(round, file.specs, user, key, past)
    return submitted, take(round, file.drafts, user)
