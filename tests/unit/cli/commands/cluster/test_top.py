"""The command `top` on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios

from tests.unit.cli.commands.test_listings import CLUSTER, NODE
from tests.unit.cli.conftest import Cluster, page
from tests.unit.sdk.scripted_server import answer

ECHO_FIELD = 3  # of what tcgetattr returns


def test_a_terminal_echoes_again_after_top_was_terminated(cluster: Cluster) -> None:
    cluster.answers |= {"GET /cluster": answer(200, CLUSTER), "GET /nodes": page(NODE), "GET /jobs": page()}
    ours, theirs = pty.openpty()
    program = "from shunter.cli.main import main; main()"
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-c", program, "top"], stdin=theirs, stdout=theirs, env=environment
    ) as process:
        shown = b""
        while b"ready" not in shown:
            shown += os.read(ours, 65536)
        assert not termios.tcgetattr(theirs)[ECHO_FIELD] & termios.ECHO
        process.terminate()
        assert process.wait(10) == 143
    assert termios.tcgetattr(theirs)[ECHO_FIELD] & termios.ECHO
    os.close(ours)
    os.close(theirs)
