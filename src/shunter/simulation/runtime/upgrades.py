"""A rolling upgrade in a simulated world: managers of two versions on one store, restarted one after the other with the
newer one. Some are downgraded again on the way.

Both versions run today's code. To the newer one, some of what it stores came with the next format: the older one does
not know it, and `simulation.checks.format_rules` sees to it that it never has to."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from shunter.engine import changes as c
from shunter.engine.changes.formats import FORMAT, SINCE, Formats, Stored
from shunter.model.job.spec import GroupSpec

if TYPE_CHECKING:
    from shunter.simulation.world import World

NEXT = FORMAT + 1
_SINCE: dict[Stored, int] = {**SINCE, c.JobHeld: NEXT, (GroupSpec, "exclusive"): NEXT}
OLDER, NEWER = Formats(FORMAT, _SINCE), Formats(NEXT, _SINCE)
UPGRADES_EVERY = 8  # in one of this many worlds with several managers
RAISED_WITHIN_S = 15.0


class RollingUpgrade:
    """`installed` has the version of each place in which a manager runs: whoever is started there runs it."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed + 1)
        self.installed = [OLDER] * world.scenario.managers

    async def run(self) -> None:
        clock, rng = self._world.clock, self._rng
        await clock.sleep(rng.uniform(0.1, 0.5) * self._world.scenario.fault_period_s)
        for place in rng.sample(range(len(self.installed)), len(self.installed)):
            await self._install(place, NEWER)
            await clock.sleep(rng.uniform(0.2, 4.0))
            if rng.random() < 0.3 and len(self.installed) > 1:
                await self._install(place, OLDER)
                await clock.sleep(rng.uniform(0.2, 4.0))
                await self._install(place, NEWER)

    async def _install(self, place: int, formats: Formats) -> None:
        """Stop the manager in this place, if there is one; the world starts the next one soon."""
        world = self._world
        self.installed[place] = formats
        world.trace.record("upgrade.installed" if formats is NEWER else "upgrade.reverted", f"place {place}")
        for manager in [each for each in world.live_managers if each.place == place]:
            if self._rng.random() < 0.5:
                manager.kill()
            else:
                world.spawn(manager.stop(leave_running=True))
            await manager.wait_terminated()

    async def wait_raised(self) -> None:
        """After the faults. The checkers say whether it was too early."""
        world = self._world
        give_up_s = world.clock.now() + RAISED_WITHIN_S
        while world.checkers.formats.active != NEXT and world.clock.now() < give_up_s:
            await world.clock.sleep(0.2)
        world.checkers.formats.check_raised(NEXT)
