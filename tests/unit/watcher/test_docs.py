"""The pages about heartbeats and the worker protocol state the defaults and limits of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from shunter.adapters.grpc.backoff import BACKOFF_FIRST_S, BACKOFF_MAX_S, BACKOFF_PERMANENT_S
from shunter.adapters.grpc.channel import MESSAGE_BYTES_MAX
from shunter.adapters.grpc.send_buffer import SEND_BUFFER_BYTES_MAX
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION
from shunter.watcher import settings

DOCS = Path(__file__).parents[3] / "docs"


def test_the_watchers_page_lists_every_default_with_its_value() -> None:
    section = (DOCS / "operations" / "heartbeats.md").read_text(encoding="utf-8").partition("## Defaults")[2]
    listed = dict(re.findall(r"^\| `(\w+)` \| ([\w.]+) \|", section, flags=re.MULTILINE))
    constants = {name: value for name, value in vars(settings).items() if name.isupper()}
    fields = {field.name: field.default for field in dataclasses.fields(settings.WatcherSettings)}
    assert listed == {
        name: "none" if value is None else f"{value:g}" for name, value in {**constants, **fields}.items()
    }


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
    ):
        assert claim in text
