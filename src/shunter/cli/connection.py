"""The client that commands work with: it tells the person when the cluster has to be waited for."""

from __future__ import annotations

from shunter.cli.exit_codes import tell
from shunter.model.errors import ShunterError
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.sdk.client import Client, connect
from shunter.sdk.retry import PATIENCE_S

SAID_AFTER_S = 0.5  # shorter waits are not worth a line


def open_client(namespace: str = NAMESPACE_DEFAULT, patience_s: float = PATIENCE_S) -> Client:
    said = False

    def on_retry(failure: ShunterError, delay_s: float) -> None:
        nonlocal said
        if not said and delay_s >= SAID_AFTER_S:
            said = True
            tell(f"{failure.detail}; trying again for up to {patience_s:.0f} s")

    return connect(namespace=namespace, patience_s=patience_s, on_retry=on_retry)
