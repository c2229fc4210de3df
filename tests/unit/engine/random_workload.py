"""A random workload for the harness: jobs of all kinds start, end and are preempted, on nodes that come and go. For
tests that need decisions of every kind."""

from __future__ import annotations

import random
from typing import Any

from shunter.model.job.spec import Affinity, JobOptions, Spread
from shunter.model.protocol.worker_messages import Order
from tests.unit.engine.harness import Harness, spec

NODES = 3


class RandomWorkload:
    def __init__(self, harness: Harness, seed: int) -> None:
        self.harness, self.rng = harness, random.Random(seed)
        self.seed = seed
        self.unfinished_orders: list[tuple[int, Order]] = []
        self.number = 0

    async def run(self, steps: int = 40) -> None:
        for number in range(NODES):
            await self.harness.join(f"n{number}", cpu=self.rng.randrange(2, 5))
        for _ in range(steps):
            await self.rng.choice([self.submit, self.submit, self.end, self.end, self.toggle_cordon])()
            await self.harness.settle(self.rng.choice([0.0, 0.5, 40.0]))

    async def submit(self) -> None:
        rng = self.rng
        rule = Affinity("job", "job.name.startsWith('j1')", rng.random() < 0.5, anti=rng.random() < 0.5)
        kinds: list[dict[str, Any]] = [
            {}, {}, {"priority": 90}, {"priority": 10}, {"distinct": "host"}, {"spread": (Spread("rack"),)},
            {"options": JobOptions(gang=True)}, {"estimate_s": 30.0}, {"needs": {"cpu": 2000, "memory": 2**20}},
            {"affinity": (rule,)},
        ]  # fmt: skip
        self.number += 1
        await self.harness.submit(spec(f"j{self.number}-{self.seed}", rng.randrange(1, 5), **rng.choice(kinds)))

    async def end(self) -> None:
        self.unfinished_orders += self.harness.orders()
        for node, order in [each for each in self.unfinished_orders if self.rng.random() < 0.7]:
            self.unfinished_orders.remove((node, order))
            await self.harness.end(node, order)

    async def toggle_cordon(self) -> None:
        engine, name = self.harness.engine, f"n{self.rng.randrange(NODES)}"
        if engine.state.nodes.by_name[name].cordoned_by:
            await engine.release_node(name, "cordon")
        else:
            await engine.cordon_node(name, "maintenance")
