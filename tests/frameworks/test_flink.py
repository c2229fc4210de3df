"""Real Flink applications in slots: their results, and where Flink itself says that its tasks run."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.e2e.cluster import eventually
from tests.frameworks.expected_results import crawl, web_site, word_counts
from tests.frameworks.framework_cluster import EXAMPLES, RUN_MAX_S, FrameworkCluster, get_json
from tests.frameworks.sockets import is_loopback, listening_sockets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GATED = """
import pathlib, runpy, time
def wait_for(gate):
    while not pathlib.Path(gate).exists():
        time.sleep(0.1)
wait_for({way_in!r})
runpy.run_path({program!r}, run_name="__main__")
wait_for({way_out!r})
"""


@pytest.mark.smoke
def test_a_word_count_runs_with_each_task_manager_in_its_slot(
    framework_cluster: FrameworkCluster, tmp_path: Path
) -> None:
    """S1-02, S1-15, S1-16, S1-30: Flink's own REST names the slots; the count is that of a serial run."""
    way_in, way_out, program = tmp_path / "in", tmp_path / "out", tmp_path / "gated.py"
    words = str(EXAMPLES / "flink_words.py")
    program.write_text(GATED.format(way_in=str(way_in), program=words, way_out=str(way_out)))
    manifest = framework_cluster.manifest("flink-words-python").replace(words, str(program))
    entry = "    - {name: flink-words-python}\n"
    framework_cluster.apply(manifest.replace(entry, entry * 2))
    rest = framework_cluster.ports("flink-words-python")["rest"]

    def task_managers() -> list[str] | None:
        found = (get_json(rest, "/taskmanagers") or {}).get("taskmanagers", [])
        return sorted(each["id"] for each in found) if len(found) == 2 else None

    assert eventually(task_managers, "two TaskManagers have registered", RUN_MAX_S) == ["slot-0", "slot-1"]

    addresses = {address for _, address in listening_sockets(framework_cluster.cluster.processes())}
    assert not [address for address in addresses if not is_loopback(address)]
    config = get_json(rest, "/config")["features"]
    assert (config["web-submit"], config["web-cancel"]) == (False, False)
    for path in ("/jars/upload", "/jars/any.jar/run", "/jobs"):  # nobody can bring programs, or graphs of jobs
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(f"http://127.0.0.1:{rest}{path}", b"{}", method="POST"), timeout=30)
        assert refused.value.code in (404, 405), path

    way_in.touch()  # batch mode does not wait for a TaskManager that comes late

    def finished() -> str | None:
        jobs = (get_json(rest, "/jobs") or {}).get("jobs", [])
        return next((str(job["id"]) for job in jobs if job["status"] == "FINISHED"), None)

    job = eventually(finished, "the job has finished", RUN_MAX_S)
    used = set()
    for vertex in get_json(rest, f"/jobs/{job}")["vertices"]:
        subtasks = get_json(rest, f"/jobs/{job}/vertices/{vertex['id']}")["subtasks"]
        used |= {subtask["taskmanager-id"] for subtask in subtasks}
    assert used == {"slot-0", "slot-1"}

    way_out.touch()
    ended = framework_cluster.wait_until_ended("flink-words-python")
    assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("flink-words-python")
    assert json.loads(framework_cluster.stdout("flink-words-python")) == word_counts()
    framework_cluster.release("flink-words-python")


def test_a_crawler_finds_what_a_serial_one_finds(framework_cluster: FrameworkCluster) -> None:
    """S1-28, S1-30"""
    with web_site() as start:
        ended = framework_cluster.run(
            "flink-crawler", framework_cluster.manifest("flink-crawler").replace("http://127.0.0.1:8765/0", start)
        )
        assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("flink-crawler")
        lines = [line.rsplit(" ", 1) for line in framework_cluster.stdout("flink-crawler").splitlines()]
        assert {name: int(count) for name, count in lines if not name.startswith("slot ")} == crawl(start)
    assert {name for name, _ in lines if name.startswith("slot ")} == {"slot 0", "slot 1"}


def test_a_job_that_fails_fails_its_batch_job(framework_cluster: FrameworkCluster) -> None:
    """S1-27: a JobManager ends with 163 then."""
    manifest = framework_cluster.manifest("flink-words").replace(str(EXAMPLES / "text.txt"), "/no/such/text")
    framework_cluster.apply(manifest)
    ended = framework_cluster.wait_until_ended("flink-words")
    assert ended["status"]["state"] == "FailedSubmissionState"
    assert ended["status"]["problems"]
    assert "/no/such/text" in framework_cluster.stderr("flink-words")
    framework_cluster.release("flink-words")
