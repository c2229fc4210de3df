"""The pages about heartbeats and the worker protocol state the defaults and limits of the code."""

from __future__ import annotations

from pathlib import Path

from shunter.adapters.grpc.backoff import BACKOFF_FIRST_S, BACKOFF_MAX_S, BACKOFF_PERMANENT_S
from shunter.adapters.grpc.channel import MESSAGE_BYTES_MAX
from shunter.adapters.grpc.send_buffer import SEND_BUFFER_BYTES_MAX
from shunter.model.protocol.message_limits import HELD_MAX, PARTS_MAX, TEXT_MAX
from shunter.model.protocol.report_slices import SLICE_MAX
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION
from shunter.ports.workers import STALE_HEARTBEATS
from shunter.watcher import settings

DOCS = Path(__file__).parents[3] / "docs"


def test_the_watchers_page_lists_every_default_with_its_value() -> None:
    section = (DOCS / "operations" / "heartbeats.md").read_text(encoding="utf-8").partition("## Defaults")[2]
    defaults = settings.WatcherSettings()
    assert defaults.heartbeat_s is None and defaults.timeout_s is None
    for row in (
        f"heartbeat interval | {settings.HEARTBEAT_MIN_S:g} s to {settings.HEARTBEAT_MAX_S:g} s,",
        f"all nodes together | {settings.HEARTBEATS_PER_S_MAX} per second |",
        f"is suspect | {settings.SILENT_HEARTBEATS:g} intervals",
        f"is down | {settings.TIMEOUT_HEARTBEATS:g} intervals, at least {settings.TIMEOUT_MIN_S:g} s |",
        f"flagged as stale | {STALE_HEARTBEATS:g} intervals |",
        f"after a restart of the manager | {defaults.return_s:g} s |",
        f"to its inventory | {defaults.handshake_timeout_s:g} s |",
        f"to ReadLog and ReadStats | {defaults.request_timeout_s:g} s |",
        f"requests to one worker | {defaults.requests_max} |",
    ):
        assert row in section


def test_the_protocols_page_states_the_limits_of_the_code() -> None:
    text = " ".join((DOCS / "reference" / "worker-protocol.md").read_text(encoding="utf-8").split())
    defaults = settings.WatcherSettings()
    for claim in (
        f"at most {MESSAGE_BYTES_MAX // 2**20} MiB",
        f"when {SEND_BUFFER_BYTES_MAX // 2**20} MiB wait for it",
        f"after {BACKOFF_FIRST_S:g} s, then twice as long each time up to {BACKOFF_MAX_S:g} s",
        f"it waits up to {BACKOFF_PERMANENT_S:g} s",
        f"within {defaults.handshake_timeout_s:g} s of connecting",
        f"`Hello.protocol` is {PROTOCOL_VERSION}.",
        f"at most {PARTS_MAX:,} entries of its lists",
        f"`held` of an inventory has at most {HELD_MAX:,} entries",
        f"sends at most {SLICE_MAX:,} entries",
        f"has the first {SLICE_MAX:,} of them",
        f"at most {TEXT_MAX:,} characters",
    ):
        assert claim in text
