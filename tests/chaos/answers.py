"""Counts answers by status: those to a campaign's own client, and those to a reader next to it."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Generator
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from shunter import Client
from shunter.sdk.core import Core
from shunter.sdk.endpoint import finder
from shunter.sdk.errors import ConnectionLost, NotReachable
from shunter.sdk.transport.blocking import Transport
from shunter.sdk.transport.steps import Conversation, ConversationDriver, Response
from tests.e2e.cluster import Cluster

READ_EVERY_S = 0.1
NO_ANSWER = "none"  # refused, cut off, or too late
BUSY = "503 with Retry-After"  # a manager that starts, or cannot write, says so and when to come again

T = TypeVar("T")


def unexpected(answers: Counter[str]) -> Counter[str]:
    """Answers that say that the cluster itself has failed."""
    return Counter({answer: count for answer, count in answers.items() if answer.startswith("5") and answer != BUSY})


def counting_client(cluster: Cluster, answers: Counter[str], patience_s: float) -> Client:
    transport = CountingTransport(finder(None, None, cluster.environment), answers)
    return Client(transport, Core(patience_s=patience_s))


class CountingTransport(Transport):
    """The transport of the SDK, which retries by itself: so answers are counted here, below that."""

    def __init__(self, find: Any, answers: Counter[str]) -> None:
        super().__init__(find)
        self._answers = answers

    def stream(self, conversation: Conversation[T]) -> Generator[Any, None, T]:
        return super().stream(self._count(conversation))

    def _count(self, conversation: Conversation[T]) -> Conversation[T]:
        driver = ConversationDriver(conversation)
        while (step := driver.step) is not None:
            try:
                reply = yield step
            except (ConnectionLost, NotReachable, TimeoutError) as error:
                self._answers[NO_ANSWER] += 1
                driver.fail(error)
            else:
                if isinstance(reply, Response):
                    self._answers[name_answer(reply.status, "retry-after" in reply.headers)] += 1
                driver.answer(reply)
        return driver.result


class Reader(threading.Thread):
    """Reads jobs and nodes all the time, without retries."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._ending = threading.Event()
        self.answers: Counter[str] = Counter()
        self.texts: list[str] = []  # of answers that are errors, for the message of a test that fails

    def run(self) -> None:
        while not self._ending.wait(READ_EVERY_S):
            for path in ("/api/v1/jobs?limit=5", "/api/v1/nodes"):
                self.answers[self._read(path)] += 1

    def stop(self) -> None:
        self._ending.set()
        self.join(60)

    def _read(self, path: str) -> str:
        try:
            headers = {"authorization": f"Bearer {self._cluster.token}"}
            with urlopen(Request(self._cluster.description["url"] + path, headers=headers), timeout=30) as answer:
                json.load(answer)
                return str(answer.status)
        except HTTPError as error:
            self.texts.append(f"{error.code} {path} {error.read()[:200].decode(errors='replace')}")
            return name_answer(error.code, "retry-after" in error.headers)
        except (OSError, HTTPException, ValueError) as error:
            self.texts.append(f"{path} {error!r}")
            return NO_ANSWER


def name_answer(status: int, says_when: bool) -> str:
    return BUSY if status == 503 and says_when else str(status)
