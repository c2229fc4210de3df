"""How a keeper collects its ended children. The test's own process may have others, so a process of its own does it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, os
from shunter.worker.keeper.children import Children

children, found = Children(), [Children().collect()]
begun, begin = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(begun, 1)
    data = b"x" * (64 << 20)
    while sum(os.times()[:2]) < 0.2:
        pass
    os._exit(3)
found.append(children.collect())
os.write(begin, b"x")
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
found.append(children.collect() == pid)
found.append(os.waitstatus_to_exitcode(children.status))
total = __import__("resource").getrusage(__import__("resource").RUSAGE_CHILDREN)
found.append(list(children.used))
found.append([total.ru_utime, total.ru_stime, total.ru_maxrss, total.ru_inblock, total.ru_oublock])
found.append(children.collect())
print(json.dumps(found))
"""


def test_a_child_that_ended_is_collected_with_what_it_used() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, timeout=60).stdout
    without_child, running, is_same, exit_code, used, total, at_last = json.loads(output)
    assert (without_child, running, is_same, exit_code, at_last) == (-1, 0, True, 3, -1)
    user_s, user_us, system_s, system_us, peak_kib, blocks_read, blocks_written = used
    assert user_s + user_us / 1e6 == pytest.approx(total[0], abs=0.01)
    assert system_s + system_us / 1e6 == pytest.approx(total[1], abs=0.01)
    assert user_s + user_us / 1e6 + system_s + system_us / 1e6 > 0.1
    assert [peak_kib, blocks_read, blocks_written] == total[2:]
    assert peak_kib > 64 * 1024
