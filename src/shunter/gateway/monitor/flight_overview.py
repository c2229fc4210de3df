"""The flight recorder as a time line: decisions as columns, a period for each policy that decided, and how far shadows
agreed. Used by `gateway.monitor`."""

from __future__ import annotations

from itertools import groupby

from shunter.gateway.monitor.recording import SEGMENTS_MAX, Comparison, RecordedDecision, Recording
from shunter.model.rest.monitor.decision_views import FlightTimeline, PolicyPeriod, ShadowAgreement
from shunter.model.timestamps import iso

DIFFERENCES_MAX = 200  # of one shadow
PERIODS_MAX = 50


async def flight_timeline(recording: Recording, limit: int, *, has_all: bool) -> FlightTimeline:
    """The newest `limit` decisions, in the order in which they were made."""
    names = await recording.names()
    decisions: list[tuple[str, RecordedDecision]] = []
    comparisons: list[Comparison] = []
    for name in reversed(names[-SEGMENTS_MAX:]):
        segment = await recording.segment(name, is_closed=name != names[-1])
        wanted = [(name, each) for each in segment.decisions if has_all or each.has_effect]
        decisions = wanted + decisions
        comparisons = [*segment.comparisons, *comparisons]
        if len(decisions) >= limit:
            break
    shown = decisions[-limit:]
    policies = list(dict.fromkeys(each.policy for _, each in shown))
    return FlightTimeline(
        ids=[f"{name}.{each.number}" for name, each in shown],
        at_ms=[round(each.at * 1000) for _, each in shown],
        placed=[each.placed for _, each in shown],
        preempted=[each.preempted for _, each in shown],
        left=[each.row.left for _, each in shown],
        failed=[bool(each.row.error) for _, each in shown],
        policies=[policies.index(each.policy) for _, each in shown],
        policy_names=policies,
        periods=_periods([each for _, each in decisions])[-PERIODS_MAX:],
        shadows=_agreement(comparisons),
        truncated=len(shown) < len(decisions) or len(names) > SEGMENTS_MAX,
    )


def _periods(decisions: list[RecordedDecision]) -> list[PolicyPeriod]:
    """Neighbours with the same policy. An external scheduler counts like a policy."""
    found: list[PolicyPeriod] = []
    for policy, group in groupby(decisions, key=lambda each: each.policy):
        members = list(group)
        nodes = {node for each in members for row in each.row.placements for node in row.nodes}
        found.append(
            PolicyPeriod(
                policy=policy,
                start=iso(members[0].at) or "",
                stop=iso(members[-1].at) or "",
                decisions=len(members),
                placed=sum(each.placed for each in members),
                preempted=sum(each.preempted for each in members),
                failed=sum(bool(each.row.error) for each in members),
                nodes=len(nodes),
            )
        )
    return found


def _agreement(comparisons: list[Comparison]) -> list[ShadowAgreement]:
    found = []
    for name in sorted({each.shadow for each in comparisons}):
        own = [each for each in comparisons if each.shadow == name]
        differences = [round(each.at * 1000) for each in own if not each.is_same]
        agreed = len(own) - len(differences)
        found.append(
            ShadowAgreement(name=name, compared=len(own), agreed=agreed, differed_ms=differences[-DIFFERENCES_MAX:])
        )
    return found
