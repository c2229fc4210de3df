"""Co-location rules: which tasks may share a node, or the value of a node label, with which others.

All callers use these functions, so that a rule has the same meaning everywhere: the planner (`planning.filter.rules`)
and with it the validation of decisions, the engine's own placement (`engine.placement.colocation`), refills, and the
toolkit for policies. Callers pass in what runs where.

`distinct` names a label; HOST stands for the node itself. A *domain* is the label's value as a number, per row. No two
tasks of a group share a domain, and a node without the label accepts none of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shunter.model.job.spec import Affinity
from shunter.planning.view import BoolArray, IntArray, NodeKind, Nodes, Rules

HOST = "host"  # as a label: every node has its own value
UNLABELLED = 0  # the domain of nodes that lack a label


def domain_by_kind(kinds: Sequence[NodeKind], label: str) -> IntArray:
    """The domain of each kind of node."""
    numbers: dict[str | None, int] = {None: UNLABELLED}
    return np.array([numbers.setdefault(kind.labels.get(label), len(numbers)) for kind in kinds], dtype=np.int64)


def conflicting_rows(nodes: Nodes, label: str, occupied: IntArray) -> BoolArray:
    """The rows that take no further task of a group with tasks on the rows `occupied`."""
    if label == HOST:
        return is_any_of(occupied, nodes.count)
    domain = domain_by_kind(nodes.kinds, label)[nodes.kind[: nodes.count]]
    conflicting: BoolArray = shares_domain(domain, occupied) | (domain == UNLABELLED)
    return conflicting


def shares_domain(domain: IntArray, occupied: IntArray) -> BoolArray:
    """The rows with the same domain as any of the rows `occupied`."""
    return np.isin(domain, domain[occupied])


def is_any_of(rows: IntArray, count: int) -> BoolArray:
    """The same for hosts: exactly these rows."""
    found = np.zeros(count, np.bool_)
    found[rows] = True
    return found


def is_first_of_domain(domain: IntArray) -> BoolArray:
    """Whether each row is the first one in its domain."""
    _, first = np.unique(domain, return_index=True)
    return is_any_of(first, len(domain))


def is_one_per_node(rules: Rules | None) -> bool:
    """Whether no two tasks of the group may share a node."""
    return rules is not None and bool(rules.distinct)


def depends_on_own_placements(rules: Rules | None) -> bool:
    """Whether the placement of the class's last task matters for the next one."""
    return rules is not None and bool(rules.distinct or rules.spread or rules.affinity or rules.exclusive)


def may_follow(rules: Rules | None) -> bool:
    """Whether the next task of a class may always go where its last one was. Not for gangs, which start together; nor
    for distinct tasks, which may have moved to the same domain; nor for tasks with an affinity, whose jobs may have
    ended."""
    if rules is None:
        return True
    return not (rules.gang or rules.distinct or any(is_required_job_affinity(rule) for rule in rules.affinity))


def is_required_job_affinity(rule: Affinity) -> bool:
    """Whether tasks must run where certain jobs run."""
    return rule.to == "job" and rule.require and not rule.anti


def is_required_anti_affinity(rule: Affinity) -> bool:
    """Whether tasks must not run where certain jobs run. It binds both sides, whichever came first."""
    return rule.to == "job" and rule.require and rule.anti


def is_same_group(one: Rules | None, other: Rules | None) -> bool:
    """Whether the tasks of two classes belong to one group of one job, for the rules between its tasks."""
    return one is not None and other is not None and (one.job, one.group) == (other.job, other.group)
