"""Creates and withdraws Schedulings that a policy decided: the items of `Decision.schedulings` and
`Decision.withdrawals`. Called for decisions from inside and outside of rounds."""

from __future__ import annotations

from collections.abc import Callable

from shunter.engine.objects.apply import check_drafts, find_object, on_apply, on_delete
from shunter.engine.round import Round
from shunter.model.errors import Busy, Rejected
from shunter.model.objects.documents import scheduling_spec
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.objects import API_VERSIONS, SCHEDULING, Draft
from shunter.planning.view import Decision, SchedulingDraft

Refuse = Callable[[str, str], None]  # item, reason


def check_schedulings(round: Round, decision: Decision, refuse: Refuse) -> None:
    """Refuse items that do not hold; change nothing."""
    for number, name in enumerate(decision.withdrawals):
        try:
            find_object(round, SCHEDULING, name)
        except Rejected as error:
            refuse(f"withdrawals[{number}]", error.detail)
    for number, draft in enumerate(decision.schedulings):
        try:
            check_drafts(round, [_parse_draft(draft)])
        except (Rejected, Busy) as error:
            refuse(f"schedulings[{number}]", error.detail)


def apply_schedulings(round: Round, decision: Decision, user: str, refuse: Refuse) -> None:
    """Apply item by item; a refused one changes nothing."""
    for number, name in enumerate(decision.withdrawals):
        try:
            on_delete(round, SCHEDULING, name)
        except Rejected as error:
            refuse(f"withdrawals[{number}]", error.detail)
    for number, draft in enumerate(decision.schedulings):
        try:
            on_apply(round, [_parse_draft(draft)], user)
        except (Rejected, Busy) as error:
            refuse(f"schedulings[{number}]", error.detail)


def _parse_draft(draft: SchedulingDraft) -> Draft:
    """Parse it like a manifest, so that policies are bound by the same rules."""
    document = {
        "apiVersion": API_VERSIONS[0],
        "kind": SCHEDULING,
        "metadata": {"name": draft.name.name, "namespace": draft.name.namespace},
        "spec": scheduling_spec(draft.spec),
    }
    [read] = read_objects([document])
    return read
