"""Applies files that contain both jobs and objects, all or nothing. Called by the engine's rounds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shunter.engine.jobs.submit import SubmitResult, on_submit, results_by_key
from shunter.engine.objects.apply import UNCHANGED, ApplyResult, apply_drafts, check_drafts
from shunter.engine.round import Round
from shunter.model.errors import Invalid
from shunter.model.files.mixed_files import IDEMPOTENCY_KEY_REUSED, FilePart, file_problem_paths
from shunter.model.job.spec import JobSpec
from shunter.model.objects.objects import Draft


@dataclass(frozen=True, slots=True)
class MixedFile:
    """The parsed contents of a file, and the positions of its parts."""

    specs: list[JobSpec]
    drafts: list[Draft]
    jobs: FilePart
    objects: FilePart


def on_apply_file(
    round: Round, file: MixedFile, user: str, key: str | None, generated: Collection[int] = ()
) -> tuple[list[SubmitResult], list[ApplyResult]]:
    """Validate both parts before anything is recorded; neither part's checks depend on the other. A known key means
    that the whole file was applied earlier."""
    existing = results_by_key(round, key)
    if existing is not None:
        if len(existing) != len(file.specs):
            raise Invalid([IDEMPOTENCY_KEY_REUSED])
        return existing, [ApplyResult(draft.kind, draft.name, UNCHANGED) for draft in file.drafts]
    with file_problem_paths(file.objects):
        check_drafts(round, file.drafts)
    with file_problem_paths(file.jobs):
        submitted = on_submit(round, file.specs, user, key, generated)
    return submitted, apply_drafts(round, file.drafts, user)
