"""A cluster that answers as a test tells it to, or that keeps objects in memory, and the command line pointed at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shunter.cli.main import carry_out
from shunter.cli.render.tables import yaml_text
from tests.contracts.memory_objects import MemoryObjectDesk
from tests.unit.api.fake_gateway import TOKEN
from tests.unit.api.live_server import live_server

from ..sdk.scripted_server import Asked, ScriptedServer, answer, serving

Reply = bytes | Iterable[bytes] | None


@dataclass
class Cluster:
    """`answers` maps a method and a path (without its query) to what is answered, or to a function that decides."""

    server: ScriptedServer
    answers: dict[str, Reply | Callable[[Asked], Reply]] = field(default_factory=dict)

    def reply(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/api/v1").partition("?")[0]
        found = self.answers.get(f"{asked.method} {path}", answer(404, {"detail": f"nothing at {path}"}))
        return found(asked) if callable(found) else found

    @property
    def asked(self) -> list[str]:
        return [f"{asked.method} {asked.path.removeprefix('/api/v1')}" for asked in self.server.asked]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    cluster = Cluster(ScriptedServer(lambda _: None))
    with serving(cluster.reply) as cluster.server:
        monkeypatch.setenv("SHUNTER_URL", cluster.server.url)
        monkeypatch.setenv("SHUNTER_TOKEN", "secret")
        monkeypatch.delenv("SHUNTER_NAMESPACE", raising=False)
        yield cluster


@dataclass
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str


Shunter = Callable[..., Said]


@pytest.fixture
def shunter(capfd: pytest.CaptureFixture[str]) -> Shunter:
    """Carries a command line out in this process."""

    def carry(*arguments: str) -> Said:
        code = carry_out(list(arguments))
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return carry


def page(*items: object, cursor: str | None = None) -> bytes:
    return answer(200, {"items": list(items), "next": cursor, "total": len(items)})


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryObjectDesk]:
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
