"""What a task finds of its secrets, in a process and in a container, and that nothing of them stays behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from shunter.model.job.spec import Container, SecretRef
from shunter.worker.runtimes.attempt_records import RecordStore
from shunter.worker.runtimes.docker.container_spec import HOME_LABEL
from shunter.worker.runtimes.docker.daemon import Daemon
from tests.services.docker_daemon import IMAGE, TestDaemon
from tests.services.docker_harness import until
from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services

NOBODY = "nobody"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tasks as other users")
VARIABLE, FILE = b"marker-variable-1", b"marker-file-2"
SECRETS = (SecretRef("password", env="PASSWORD", value=VARIABLE), SecretRef("key", file="key.pem", value=FILE))
PROBE = (
    'echo "$PASSWORD $(cat "$SHUNTER_SECRETS/key.pem") $SHUNTER_SECRETS";'
    '(echo other > "$SHUNTER_SECRETS/key.pem"; echo new > "$SHUNTER_SECRETS/new") 2> /dev/null; ls "$SHUNTER_SECRETS"'
)


def files_with_values(home: Path) -> list[Path]:
    """Logs have what the task itself has printed."""
    found = [path for path in home.rglob("*") if path.is_file() and "logs" not in path.parts]
    return [path for path in found if any(value in path.read_bytes() for value in (VARIABLE, FILE))]


async def list_containers(harness: Harness, daemon: Daemon) -> list[dict[str, Any]]:
    """The worker's containers, those that have ended included."""
    return await daemon.list_by_label(f"{HOME_LABEL}={(harness.home / 'docker' / 'id').read_text()}")


@pytest.mark.parametrize("user", ["", "worker"])
async def test_a_container_sees_the_variable_and_the_file_and_leaves_nothing(
    tmp_path: Path, docker: TestDaemon, user: str
) -> None:
    async with open_harness(tmp_path, docker_host=docker.host) as harness:
        fields = {"runtime": "docker", "container": Container(IMAGE, network="none"), "user": user, "secrets": SECRETS}
        script = f"{PROBE}; until [ -e /tmp/go ]; do sleep 0.02; done; exit 3"
        harness.order("/bin/sh", "-c", script, **fields)
        [started] = await harness.until(lambda: harness.started)

        async def has_looked() -> bool:
            return (await harness.read(started)).data == (
                b"marker-variable-1 marker-file-2 /shunter/secrets\nkey.pem\n"
            )

        await until(has_looked)
        assert files_with_values(harness.home), "a restarted worker needs them"
        [record] = (harness.home / "attempts").glob("*.json")
        assert record.parent.stat().st_mode & 0o077 == 0
        daemon = Daemon(docker.host)
        [found] = await list_containers(harness, daemon)
        harness.acknowledges = False  # the record stays until the manager has the result, but without values
        await daemon.execute(found["Id"], ["/bin/touch", "/tmp/go"])
        [ended] = await harness.until(lambda: harness.ended)
        assert ended.exits == [3]

        async def is_gone() -> bool:
            return await list_containers(harness, daemon) == []

        await until(is_gone)
        await daemon.close()
        assert record.exists()
        assert files_with_values(harness.home) == []


@AS_ROOT
@pytest.mark.parametrize("mode", ["user", "task_user", "own"])
async def test_a_file_belongs_to_the_user_of_the_task_and_only_it_can_read_it(tmp_path: Path, mode: str) -> None:
    settings = {"task_user": NOBODY} if mode == "task_user" else {}
    fields = {"user": NOBODY} if mode == "user" else {}
    owner = "root" if mode == "own" else NOBODY
    async with open_harness(tmp_path, **settings) as harness:
        script = 'stat -c "%U %a" "$SHUNTER_SECRETS/key.pem"; cat "$SHUNTER_SECRETS/key.pem"; echo; echo "$PASSWORD"'
        script += '; touch "$SHUNTER_SECRETS/new" 2> /dev/null && echo "made a file"; echo "$SHUNTER_SECRETS"'
        ended = await harness.run("sh", "-c", script, secrets=SECRETS, **fields)
        said = (await harness.read(ended)).data.decode().splitlines()
        assert said[:3] == [f"{owner} 400", FILE.decode(), VARIABLE.decode()]
        assert ("made a file" in said) == (mode == "own"), "the folder belongs to the worker"
        assert not Path(said[-1]).exists()
        assert files_with_values(harness.home) == []


def test_what_a_killed_worker_left_half_written_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "attempts"
    (folder / "1-0-0-1.secrets").mkdir(parents=True)
    (folder / "1-0-0-1.secrets" / "key.pem").write_bytes(FILE)
    (folder / "1-0-0-1.new").write_bytes(VARIABLE)
    assert RecordStore(tmp_path).load() == []
    assert list(folder.iterdir()) == []
