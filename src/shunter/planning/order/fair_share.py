"""Fair share by dominant resource: how much of the cluster each party and user has, and whose turn it is. Called by
`turns`. A party is a tenant with all its namespaces, or a namespace that belongs to no tenant.

The dominant share of a party or user is the largest of its shares of any one resource: Ghodsi, Zaharia, Hindman,
Konwinski, Shenker and Stoica, "Dominant Resource Fairness", NSDI 2011. The smallest share goes first. Shares are
compared in whole steps, so that one turn may place all tasks up to the next step. From an empty to a full cluster this
takes at most STEPS turns per resource, however many tasks there are. The price is fairness finer than a step. Where a
step is smaller than a task, as in every small cluster, there is no price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.planning.view import IntArray

STEPS = 400  # a quarter of a percent of the cluster

Amounts = list[int]  # by column of the nodes' resources
Owner = tuple[str, str | None]  # namespace or party and user, or the whole party
NO_TENANTS: Mapping[str, str] = {}


class FairShare:
    """The resources of each party: those in the view, plus those that this decision has placed."""

    def __init__(
        self,
        usage: Mapping[tuple[str, str], IntArray],
        totals: Sequence[int],
        tenants: Mapping[str, str] = NO_TENANTS,
    ) -> None:
        """`tenants` are the owners of namespaces."""
        self._usage = usage
        self._totals = totals
        self._tenants = tenants
        self._used: dict[Owner, Amounts] | None = None  # computed on request
        self._placed: list[tuple[str, str, Sequence[int], int]] = []  # since the last request
        self._held: dict[Owner, Amounts] = {}
        self._levels: dict[Owner, int] = {}

    def party_of(self, namespace: str) -> str:
        """No namespace has a space in its name."""
        tenant = self._tenants.get(namespace)
        return namespace if tenant is None else f"tenant {tenant}"

    def place(self, namespace: str, user: str, needs: Sequence[int], count: int) -> None:
        self._placed.append((namespace, user, needs, count))

    def level(self, owner: Owner) -> int:
        """The dominant share in whole steps."""
        self._add_placed()
        owner = self._as_party(owner)
        level = self._levels.get(owner)
        if level is None:
            held = self._held_by(owner)
            steps = [STEPS * amount // total for amount, total in zip(held, self._totals, strict=True) if total]
            level = self._levels[owner] = max(steps, default=0)
        return level

    def tasks_until_level(self, level: int, owner: Owner, needs: Sequence[int]) -> int | None:
        """The number of tasks after which the share reaches a level above its present one; None if it never does."""
        self._add_placed()
        held = self._held_by(self._as_party(owner))
        tasks = [
            -((STEPS * amount - level * total) // (STEPS * need))
            for amount, total, need in zip(held, self._totals, needs, strict=True)
            if total and need
        ]
        return max(1, min(tasks)) if tasks else None

    def _add_placed(self) -> None:
        """Add placed tasks. With a single party in line this is never called, and nothing is added."""
        for namespace, user, needs, count in self._placed:
            party = self.party_of(namespace)
            for owner in ((party, user), (party, None)):
                self._levels.pop(owner, None)
                held = self._held_by(owner)
                for column, need in enumerate(needs):
                    held[column] += need * count
        self._placed.clear()

    def _as_party(self, owner: Owner) -> Owner:
        return (self.party_of(owner[0]), owner[1]) if self._tenants else owner

    def _held_by(self, owner: Owner) -> Amounts:
        held = self._held.get(owner)
        if held is None:
            held = self._held[owner] = [0] * len(self._totals)
            for column, amount in enumerate(self._used_by(owner)[: len(held)]):
                held[column] += amount
        return held

    def _used_by(self, owner: Owner) -> Amounts:
        party, user = owner
        if user is not None and not self._tenants:
            used = self._usage.get((party, user))
            return [] if used is None else used.tolist()
        if self._used is None:
            self._used = self._sum_usage()
        return self._used.get(owner, [])

    def _sum_usage(self) -> dict[Owner, Amounts]:
        """The usage of each party, and of each of its users in all its namespaces."""
        found: dict[Owner, Amounts] = {}
        for (namespace, user), amounts in self._usage.items():
            party = self.party_of(namespace)
            for owner in ((party, None), (party, user)) if self._tenants else ((party, None),):
                held = found.setdefault(owner, [])
                held.extend([0] * (len(amounts) - len(held)))
                for column, amount in enumerate(amounts.tolist()):
                    held[column] += amount
        return found
