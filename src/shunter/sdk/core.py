"""The client without I/O: decides what to send, when to retry, and what the responses mean.

Every method is a conversation (see `steps`), which the blocking or the async transport carries out."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

import msgspec

from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import JobView, SubmittedJob, SubmittedJobs
from shunter.sdk.calls.requests import JSON, path_with, submit_request
from shunter.sdk.errors import (
    Busy,
    Conflict,
    ConnectionLost,
    Invalid,
    NotLeader,
    NotReachable,
    Problem,
    ShunterError,
)
from shunter.sdk.responses import decode, error_of
from shunter.sdk.retry import PATIENCE_S, Deadline, Patience
from shunter.sdk.transport.steps import Conversation, Emit, Pause, Request, Response, Send, Switch

T = TypeVar("T")

ANSWER_TIMEOUT_S = 60.0
SCHEDULER_HEADER = "Shunter-Scheduler"
PAGE_MAX = 1_000  # items in one page of a list; the API accepts more for tasks
BULK_ITEMS_MAX = 20_000
BULK_BODY_MAX_BYTES = 32 * 2**20
BULK_VALUES_MAX = 1_000_000  # of all items together; the cluster refuses a body of more
FRAMING_VALUES = 8  # around the items
BATCH_MAX_BYTES = BULK_BODY_MAX_BYTES - 64  # the rest is for the framing around the items
DIGEST_BYTES = 16
VERSION_DIGITS_MAX = 18
UNANSWERED_KEYS_MAX = 1_000  # requests of failed calls of `submit_many`; the oldest are forgotten

OnRetry = Callable[[ShunterError, float], None]


class Page(Protocol):
    """What every page of a list has."""

    @property
    def items(self) -> list[Any]: ...

    @property
    def next(self) -> str | None: ...


def new_key() -> str:
    """An idempotency key that nobody else will generate."""
    return os.urandom(16).hex()


@dataclass(slots=True)
class Core:
    """What both clients share. `on_retry` is called before each retry, with the failure and the seconds to wait.

    `version` is the newest state of the cluster that an answer has shown. Requests carry it, so that no manager answers
    with an older one: the caller never sees time go back, whichever manager it asks."""

    namespace: str = NAMESPACE_DEFAULT
    managers: int = 1
    patience_s: float = PATIENCE_S
    on_retry: OnRetry | None = None
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    new_key: Callable[[], str] = new_key
    scheduler_token: str = ""  # of a scheduler's session, to which all requests belong
    has_connected: bool = field(default=False, init=False)
    version: int = field(default=0, init=False)
    _version_lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _unanswered_keys: dict[bytes, str] = field(default_factory=dict, init=False)  # of failed calls of `submit_many`

    def fetch(self, request: Request, shape: type[T]) -> Conversation[T]:
        """Returns the answer to a request as `shape`."""
        response = yield from self.exchange(request)
        return decode(response.body, shape)

    def send(self, request: Request) -> Conversation[None]:
        """Sends a request whose answer has no content."""
        yield from self.exchange(request)

    def submit(self, manifest: Mapping[str, Any]) -> Conversation[tuple[JobView, bool]]:
        """Returns the job once it is committed, and whether this call created it."""
        response = yield from self.exchange(submit_request(manifest, self.namespace, self.new_key()))
        return decode(response.body, JobView), response.status == 201

    def submit_many(
        self, manifests: Iterable[Mapping[str, Any]], key: str | None = None
    ) -> Conversation[list[SubmittedJob]]:
        """Submits many jobs in few requests; the cluster accepts each request whole or not at all.

        Each request has a key, which is `key` with its number. Without `key`, the core remembers the keys of a call
        that failed: a second call with the same manifests creates nothing twice."""
        path = path_with("/bulk/jobs", [("namespace", self.namespace)])
        submitted: list[SubmittedJob] = []
        sent: dict[bytes, str] = {}  # keys by what was sent with them
        is_answered = False
        try:
            for number, items in enumerate(_batches(manifests)):
                body = b'{"items":[' + b",".join(items) + b"]}"
                digest = blake2b(b"%d %b %b" % (number, path.encode(), body), digest_size=DIGEST_BYTES).digest()
                sent[digest] = f"{key}-{number}" if key else self._unanswered_keys.get(digest) or self.new_key()
                request = Request("POST", path, (JSON, ("Idempotency-Key", sent[digest])), body)
                answer = yield from self.fetch(request, SubmittedJobs)
                if len(answer.items) != len(items) or (key and not all(map(_may_be, items, answer.items))):
                    raise Conflict(f"the key {sent[digest]} was used for other jobs; choose another key")
                submitted += answer.items
            is_answered = True
        finally:
            self._remember_keys({} if is_answered or key else sent, set(sent))
        return submitted

    def _remember_keys(self, unanswered: Mapping[bytes, str], sent: Collection[bytes]) -> None:
        for digest in sent:
            self._unanswered_keys.pop(digest, None)
        self._unanswered_keys.update(unanswered)
        while len(self._unanswered_keys) > UNANSWERED_KEYS_MAX:
            del self._unanswered_keys[next(iter(self._unanswered_keys))]

    def pages(
        self, path: str, shape: type[Page], limit: int | None, *, after: str | None = None, page_max: int = PAGE_MAX
    ) -> Conversation[int]:
        """Emits the items of a list behind `after`, page by page, up to `limit`; returns the number of items."""
        cursor = after
        emitted = 0
        while limit is None or emitted < limit:
            size = page_max if limit is None else min(page_max, limit - emitted)
            request = Request("GET", path_with(path, [("limit", size), ("after", cursor)]))
            page = yield from self.fetch(request, shape)
            for item in page.items:
                yield Emit(item)
            emitted += len(page.items)
            cursor = page.next
            if cursor is None:
                break
        return emitted

    def exchange(
        self,
        request: Request,
        *,
        stream: bool = False,
        patience: Patience | None = None,
        deadline: Deadline | None = None,
    ) -> Conversation[Response]:
        """Returns an answer below 300. Retries after lost connections, 429 and 503: every repeatable request is safe to
        repeat, because submits carry a key and the others state the wanted result, not a change. Other requests go to
        the next manager only if the last one has not accepted them."""
        patience = patience or self.patience()
        deadline = deadline or Deadline(self.clock)
        if self.scheduler_token:
            request = replace(request, headers=(*request.headers, (SCHEDULER_HEADER, self.scheduler_token)))
        while True:
            timeout_s = deadline.left_s(ANSWER_TIMEOUT_S)
            try:
                response: Response = yield Send(request, stream, timeout_s, self.version)
            except (ConnectionLost, NotReachable) as error:
                failure: ShunterError = error
            except TimeoutError:
                failure = ConnectionLost(f"the cluster did not answer within {timeout_s:.0f} s")
            else:
                self.has_connected = True
                if response.status < 500:
                    self.note_version(response.headers.get("shunter-version", ""))
                if response.status < 300:
                    return response
                failure = error_of(response)
            if not request.repeatable and (self.managers == 1 or not isinstance(failure, NotReachable | NotLeader)):
                raise failure
            yield from self.back_off(failure, patience, deadline)

    def note_version(self, text: str) -> None:
        """Takes note of the version of an answer, or of the position in a stream. A cluster before 0.3 sends none."""
        if text.isdecimal() and len(text) <= VERSION_DIGITS_MAX and (version := int(text)) > self.version:
            with self._version_lock:
                self.version = max(self.version, version)

    def back_off(self, failure: ShunterError, patience: Patience, deadline: Deadline) -> Conversation[None]:
        """Pauses until the next try is due. Raises the failure if there is no next try."""
        delay_s = deadline.left_s(patience.delay_s(failure, self.has_connected)) or 0.0
        if self.on_retry is not None and delay_s > 0:
            self.on_retry(failure, delay_s)
        if self.managers > 1 and not isinstance(failure, Busy):  # a limit holds for all managers together
            yield Switch()
        yield Pause(delay_s)

    def patience(self) -> Patience:
        return Patience(self.clock, self.random, self.patience_s, self.managers)


def _may_be(item: bytes, job: SubmittedJob) -> bool:
    """Whether a job can be that of an encoded manifest. The cluster invents names, and forgets them with old jobs."""
    metadata = msgspec.json.decode(item).get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return not name or not job.name or name == job.name


def _batches(manifests: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Encoded manifests in groups that one bulk request may hold."""
    batch: list[bytes] = []
    size_bytes, values = 0, FRAMING_VALUES
    for number, manifest in enumerate(manifests):
        item = msgspec.json.encode(manifest)
        item_values = item.count(b",") + item.count(b"[") + item.count(b"{") + 1
        if len(item) > BATCH_MAX_BYTES:
            raise Invalid([Problem(f"items[{number}]", f"is larger than {BATCH_MAX_BYTES} bytes")])
        is_full = size_bytes + len(item) > BATCH_MAX_BYTES or values + item_values > BULK_VALUES_MAX
        if len(batch) == BULK_ITEMS_MAX or (batch and is_full):
            yield batch
            batch, size_bytes, values = [], 0, FRAMING_VALUES
        batch.append(item)
        size_bytes += len(item) + 1
        values += item_values
    if batch:
        yield batch
