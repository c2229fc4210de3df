"""The client that commands use. It prints a notice when it waits for the cluster."""

from __future__ import annotations

from shunter.cli.exit_codes import print_notice
from shunter.model.errors import ShunterError
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.sdk.client import Client, connect
from shunter.sdk.retry import PATIENCE_S

NOTICE_AFTER_S = 0.5  # shorter waits are not worth a line


def open_client(namespace: str = NAMESPACE_DEFAULT, patience_s: float = PATIENCE_S) -> Client:
    has_notified = False

    def on_retry(failure: ShunterError, delay_s: float) -> None:
        nonlocal has_notified
        if not has_notified and delay_s >= NOTICE_AFTER_S:
            has_notified = True
            print_notice(f"{failure.detail}; retrying for up to {patience_s:.0f} s")

    return connect(namespace=namespace, patience_s=patience_s, on_retry=on_retry)
