"""Replays and purges dead letters. Called by the engine's rounds. `engine.state.registries.dead_letters` has the
list."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.rerun import check_no_unfinished_run
from shunter.engine.jobs.submit import SubmitResult, check_cluster_limits, start_run
from shunter.engine.round import Round
from shunter.model.errors import NotFound
from shunter.model.job.spec import JobSpec


def on_replay_dead_letters(round: Round, numbers: list[int], specs: list[JobSpec], user: str) -> list[SubmitResult]:
    """Run exactly these tasks again and remove their dead letters: all or none."""
    _check_letters_exist(round, numbers)
    check_cluster_limits(round, specs)
    for spec in specs:
        check_no_unfinished_run(round, spec)
    runs = [start_run(round, spec, user) for spec in specs]
    round.record(c.DeadLettersDropped(numbers, f"replayed by {user}", round.now_ms))
    return runs


def on_purge_dead_letters(round: Round, numbers: list[int], user: str) -> None:
    _check_letters_exist(round, numbers)
    if numbers:
        round.record(c.DeadLettersDropped(numbers, f"purged by {user}", round.now_ms))


def _check_letters_exist(round: Round, numbers: list[int]) -> None:
    missing = next((number for number in numbers if number not in round.state.dead_letters.letters), None)
    if missing is not None:
        raise NotFound(f"dead letter {missing} does not exist; `shunter dead` lists all")
