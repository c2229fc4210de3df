"""A cluster that answers as a test tells it to, or that keeps objects in memory, and the command line pointed at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shunter.cli.main import run_command
from shunter.cli.render.tables import yaml_text
from tests.contracts.memory_objects import MemoryObjectService
from tests.unit.api.fake_gateway import TOKEN
from tests.unit.api.live_server import live_server

from ..sdk.scripted_server import ReceivedRequest, ScriptedServer, answer, serving

Reply = bytes | Iterable[bytes] | None


@dataclass
class Cluster:
    """`answers` maps a method and a path (without its query) to what is answered, or to a function that decides."""

    server: ScriptedServer
    answers: dict[str, Reply | Callable[[ReceivedRequest], Reply]] = field(default_factory=dict)

    def reply(self, received: ReceivedRequest) -> Reply:
        path = received.path.removeprefix("/api/v1").partition("?")[0]
        found = self.answers.get(f"{received.method} {path}", answer(404, {"detail": f"nothing at {path}"}))
        return found(received) if callable(found) else found

    @property
    def received(self) -> list[str]:
        return [f"{received.method} {received.path.removeprefix('/api/v1')}" for received in self.server.received]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    cluster = Cluster(ScriptedServer(lambda _: None))
    with serving(cluster.reply) as cluster.server:
        monkeypatch.setenv("SHUNTER_URL", cluster.server.url)
        monkeypatch.setenv("SHUNTER_TOKEN", "secret")
        monkeypatch.delenv("SHUNTER_NAMESPACE", raising=False)
        yield cluster


@dataclass
class CommandResult:
    """What a command came to."""

    code: int
    out: str
    err: str


Shunter = Callable[..., CommandResult]


@pytest.fixture
def shunter(capfd: pytest.CaptureFixture[str]) -> Shunter:
    """Carries a command line out in this process."""

    def run(*arguments: str) -> CommandResult:
        code = run_command(list(arguments))
        out, err = capfd.readouterr()
        return CommandResult(code, out, err)

    return run


def page(*items: object, cursor: str | None = None) -> bytes:
    return answer(200, {"items": list(items), "next": cursor, "total": len(items)})


@pytest.fixture
def object_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryObjectService]:
    """The objects that the commands reach through the real API, in memory."""
    with live_server() as (port, gateway):
        monkeypatch.setenv("SHUNTER_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("SHUNTER_TOKEN", TOKEN)
        monkeypatch.delenv("SHUNTER_NAMESPACE", raising=False)
        yield gateway.objects


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """Writes manifests to a file and says where."""

    def write(*documents: object) -> str:
        path = tmp_path / "objects.yaml"
        path.write_text("---\n".join(map(yaml_text, documents)))
        return str(path)

    return write
