"""A cluster that answers as a test tells it to, and the command line pointed at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from shunter.cli.main import carry_out

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
