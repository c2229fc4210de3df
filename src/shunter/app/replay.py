"""Replays a flight recording with the policies of this installation. Called by `shunter replay`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shunter.adapters.files.flight_files import read_frames, unread_bytes
from shunter.app.policies import find_policies, import_policy
from shunter.engine.policy.replay import Replay
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import FlightRecord, Replayed, decode_record
from shunter.planning.policies import Catalogue
from shunter.planning.view import Policy

_ORIGIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReplayedFile:
    """The decisions made again; and the number of skipped decisions by unknown policies. A policy whose class the
    recording names has a fault: why it could not be loaded."""

    compared: list[Replayed]
    skipped_by_policy: dict[str, int]
    fault_by_policy: dict[str, str]


def replay_file(path: Path, policy: str | None) -> ReplayedFile:
    """Policies are found in this installation, in the current directory and in that of the file. Raises Invalid if it
    is not a recording, and for an unknown `policy`."""
    folders = (path.absolute().parent,)
    catalogue = find_policies(policy, folders)
    if policy is not None:
        catalogue.build(policy)
    replay = Replay(catalogue.build, policy, catalogue.filters, lambda origin: _build_origin(origin, folders))
    compared = list(replay.run(_records(path)))
    return ReplayedFile(compared, dict(replay.skipped_by_policy), replay.fault_by_policy)


def _build_origin(origin: str, folders: Sequence[Path]) -> Policy:
    """A policy by the MODULE:CLASS in a recording, which may come from anybody: nothing but the class of a policy is
    called. Raises Invalid."""
    if not _ORIGIN.fullmatch(origin):
        raise Invalid([Problem("policy", "the recording does not name a class")])
    found = import_policy(origin, folders)
    if found.error:
        raise Invalid([Problem("policy", f"{origin} could not be loaded ({found.error})", fix=found.fix or None)])
    if not (isinstance(found.target, type) and callable(getattr(found.target, "decide", None))):
        raise Invalid([Problem("policy", f"{origin} is not the class of a policy")])
    return Catalogue([found]).build(origin)


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
