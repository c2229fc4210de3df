"""Replays a flight recording with the policies of this installation. Called by `shunter replay`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from shunter.adapters.files.flight_files import read_frames, unread_bytes
from shunter.app.policies import find_policies
from shunter.engine.policy.replay import Replay
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import FlightRecord, Replayed, decode_record


def replay_file(path: Path, policy: str | None) -> tuple[list[Replayed], dict[str, int]]:
    """The decisions made again; and without `policy`, the number of skipped decisions by unknown policies. Raises
    Invalid if it is not a recording, and for an unknown `policy`."""
    catalogue = find_policies(policy)
    if policy is not None:
        catalogue.build(policy)
    replay = Replay(catalogue.build, policy, catalogue.filters)
    return list(replay.run(_records(path))), dict(replay.skipped_by_policy)


def describe_damage(path: Path) -> str:
    """Describe what a replay skipped; empty for a complete recording."""
    unread = unread_bytes(path)
    return f"{path} is cut off or damaged: its last {unread:,} bytes were left out" if unread else ""


def _records(path: Path) -> Iterator[FlightRecord]:
    try:
        for frame in read_frames(path):
            yield decode_record(frame)
    except (OSError, msgspec.DecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        fix = "name a file that `shunter flight export` wrote"
        raise Invalid([Problem("FILE", f"cannot be read: {cause}", str(path), fix)]) from None
