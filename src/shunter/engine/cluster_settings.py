"""Settings of the whole cluster that users change while it runs. They survive a restart. Called by the engine's
rounds."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.engine import changes as c
from shunter.engine.round import Round


def on_set(round: Round, settings: Mapping[str, str]) -> None:
    """An empty value means the default."""
    for name, value in settings.items():
        if round.state.cluster.get(name) != value:
            round.record(c.ClusterSet(name, value, round.now_ms))
