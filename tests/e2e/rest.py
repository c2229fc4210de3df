"""REST as any HTTP client sees it: without the SDK and without an automatic token."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.cluster import Cluster

ANSWER_MAX_S = 30.0
BASE = "/api/v1"
OUTSIDE = ("/healthz", "/external")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def fields(self) -> list[str]:
        """Where a refusal found problems."""
        return [problem["field"] for problem in self.json["problems"]]


class Rest:
    def __init__(self, cluster: Cluster) -> None:
        parts = urlsplit(cluster.description["url"])
        self.host, self.port = str(parts.hostname), int(parts.port or 0)
        self.authorization = f"Bearer {cluster.token}"
        self._authorization = {"authorization": self.authorization}

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, token: bool = True
    ) -> Answer:
        """One request; a body that is not bytes goes as JSON."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=ANSWER_MAX_S)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {**(self._authorization if token else {}), "content-type": "application/json", **(headers or {})}
        try:
            connection.request(method, path if path.startswith(OUTSIDE) else BASE + path, data, given)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[Iterator[bytes]]:
        """Lines of an answer that goes on. They end with the answer, or where the server cuts it off."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=ANSWER_MAX_S)
        connection.request("GET", BASE + path, headers={**self._authorization, **(headers or {})})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        try:
            yield _lines(response)
        finally:
            connection.close()


def events_of(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """Server-sent events: the data of each, as JSON, with the id that resumes behind it."""
    event_id = ""
    for line in lines:
        word, _, value = line.decode().rstrip("\n").partition(": ")
        if word == "id":
            event_id = value
        elif word == "data":
            data = json.loads(value)
            assert data["id"] == event_id
            yield data


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while line := response.readline():
            yield line
    except (http.client.IncompleteRead, ConnectionError, socket.timeout):  # noqa: UP041
        return
