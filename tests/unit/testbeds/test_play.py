"""Whole stories: a Scheduling from its submit to its deletion, with scripted applications."""

from __future__ import annotations

from tests.unit.testbeds.play import Play, queue_of


def test_a_scheduling_goes_from_its_submit_to_its_deletion() -> None:
    play = (
        Play().labelled(2).testbed(slots_per_node=2).with_jobs("a", "b").scheduling("s", queue_of("a", "b", "b", "a"))
    )
    play.settle()
    assert play.given == [("a", (0, 3)), ("b", (1, 2))]
    assert play.slot_states() == ["RESERVED"] * 4
    play.runs("a", "b").settle()
    assert play.slot_states() == ["OCCUPIED"] * 4
    assert play.status("s").state.word == "AwaitingCompletionState"
    play.completes("a", "b").settle()
    assert play.states("s") == [
        "ConfirmationState",
        "SubmissionState",
        "ConfirmationState",
        "SubmissionState",
        "AwaitingCompletionState",
        "CompletedState",
    ]
    play.delete("s").settle()
    assert play.job_state("a") == play.job_state("b") == "ReadyState"
    assert play.slot_states() == ["FREE"] * 4
