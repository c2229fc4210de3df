"""Replay of a recorded flight with the policies of this installation, for `shunter replay`."""

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
    """The replayed decisions; and without `policy`, how many decisions of each policy that is not installed were
    skipped. Raises Invalid if the file is not a recording, or `policy` does not exist."""
    catalogue = find_policies(policy)
    if policy is not None:
        catalogue.build(policy)
    replay = Replay(catalogue.build, policy, catalogue.filters)
    return list(replay.run(_records(path))), dict(replay.skipped_by_policy)


def describe_damage(path: Path) -> str:
    """What a replay skipped, in words; empty for an intact recording."""
    unread = unread_bytes(path)
    return f"{path} is truncated or damaged: its last {unread:,} bytes were skipped" if unread else ""


def _records(path: Path) -> Iterator[FlightRecord]:
    try:
        for frame in read_frames(path):
            yield decode_record(frame)
    except (OSError, msgspec.DecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        fix = "name a file that `shunter flight export` wrote"
        raise Invalid([Problem("FILE", f"cannot be read: {cause}", str(path), fix)]) from None
