"""Runs a policy in simulated clusters, in virtual time, with users and faults. Called by `shunter simulate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shunter.app.policies import find_policies
from shunter.model.errors import Invalid, Problem
from shunter.planning.policies import REMOTE_PREFIX
from shunter.simulation.workload.policies import PolicyFactory
from shunter.simulation.world import Failed, simulate


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of one world. `error` says which check failed, or nothing."""

    seed: int
    policy: str
    tasks: int = 0  # that were started
    wait_s: float = 0.0  # the mean, from the submit to the first start
    virtual_s: float = 0.0  # until everything had ended
    error: str = ""


def simulate_policies(names: Iterable[str], seeds: Iterable[int]) -> Iterator[SimulationResult]:
    """Run each policy in each world. Raises Invalid for an unknown policy."""
    catalogues = {name: find_policies(name) for name in names}
    for name, catalogue in catalogues.items():
        if name.startswith(REMOTE_PREFIX):
            fix = "name its class: MODULE:CLASS"
            raise Invalid([Problem("--policy", "runs in another process, which cannot be simulated", name, fix)])
        catalogue.build(name)
    for seed in seeds:
        for name, catalogue in catalogues.items():
            factory = PolicyFactory(lambda _, name=name, catalogue=catalogue: catalogue.build(name))  # type: ignore[misc]
            yield _run_simulation(seed, name, factory)


def _run_simulation(seed: int, name: str, policy_factory: PolicyFactory) -> SimulationResult:
    try:
        outcome = simulate(seed, policy_factory=policy_factory)
    except Failed as failure:
        return SimulationResult(seed, name, error=f"{type(failure.cause).__name__}: {failure.cause}")
    error = ""
    if outcome.failures:
        [(fault, _)] = outcome.failures.most_common(1)
        error = f"the default policy replaced it {outcome.failures.total():,} times: {fault}"
    return SimulationResult(seed, name, outcome.wait_times.tasks, outcome.wait_times.mean_s, outcome.virtual_s, error)
