"""The STOMP session of one client: bytes in, steps out. It does no I/O and reads no clock; `api.stomp.server` carries
out the steps in order. Close is the last step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from shunter.api.stomp.frames import V1_0, VERSIONS, BadFrame, Decoder, Frame, encode, header_line
from shunter.api.stomp.topics import Topic, UnknownTopic, parse_topic
from shunter.model.identity.oidc import TOKEN_SIZE_MAX

SERVER = "shunter"
HEARTBEAT_MS = 1_000  # neither side has to send heart-beats more often
HEARTBEAT_MAX_MS = 86_400_000
SUBSCRIPTIONS_MAX = 1_000  # of one connection
ACK_MODES = ("auto", "client", "client-individual")
IGNORED_COMMANDS = ("ACK", "NACK")  # nothing is kept for a subscriber, so there is nothing to acknowledge


class Reader(Protocol):
    """What the caller that a token identifies may read."""

    @property
    def default_namespace(self) -> str: ...

    def sees(self, namespace: str) -> bool: ...

    def is_permitted(self, token: str) -> bool:
        """Whether the token still identifies that caller."""
        ...


TokenCheck = Callable[[str], Reader | None]  # None: the token does not let in


@dataclass(frozen=True, slots=True)
class Subscription:
    """`head` is how each of its MESSAGE frames begins."""

    id: str
    topic: Topic
    head: str
    is_acknowledged: bool
    reader: Reader


@dataclass(frozen=True, slots=True)
class Write:
    data: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Close:
    is_error: bool


Step: TypeAlias = Write | Subscribe | Unsubscribe | Close


class _ProtocolError(Exception):
    """Becomes an ERROR frame, and the end."""

    def __init__(self, message: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.message, self.detail, self.headers = message, detail, headers


class Session:
    def __init__(self, find_reader: TokenCheck, reader: Reader | None = None, credential: str = "") -> None:
        """`reader`: who is known before CONNECT, because the listener asks for no token, or because the WebSocket's own
        request has brought one, which is the `credential`."""
        self.is_connected = False
        self.is_closed = False
        self.send_interval_ms = 0  # how often we must be heard of; 0: not at all
        self.receive_interval_ms = 0  # how often the client promises to be heard of
        self._find_reader, self._reader, self._credential = find_reader, reader, credential
        self._decoder = Decoder()
        self._subscriptions: dict[str, Subscription] = {}

    @property
    def version(self) -> str:
        return self._decoder.version

    def receive(self, data: bytes) -> list[Step]:
        steps: list[Step] = []
        self._decoder.feed(data)
        frame: Frame | None = None
        try:
            while not self.is_closed:
                frame = None
                frame = self._decoder.next()
                if frame is None:
                    break
                steps += self._handle(frame)
        except BadFrame as error:
            steps += self._refuse(_ProtocolError("malformed frame", str(error)), None)
        except _ProtocolError as refusal:
            steps += self._refuse(refusal, frame)
        return steps

    @property
    def is_permitted(self) -> bool:
        """Whether what let the client in is still valid: its key may be revoked or expire meanwhile."""
        return self._reader is None or not self._credential or self._reader.is_permitted(self._credential)

    def refuse(self, message: str, detail: str) -> list[Step]:
        """End it for a reason that is not in a frame."""
        return [] if self.is_closed else self._refuse(_ProtocolError(message, detail), None)

    def _handle(self, frame: Frame) -> list[Step]:
        if frame.command in ("CONNECT", "STOMP"):
            return self._connect(frame)
        if not self.is_connected:
            raise _ProtocolError("not connected", f"the first frame must be CONNECT, not {frame.command}")
        steps: list[Step]
        match frame.command:
            case "SUBSCRIBE":
                steps = self._subscribe(frame)
            case "UNSUBSCRIBE":
                steps = self._unsubscribe(frame)
            case "DISCONNECT":
                self.is_closed = True
                return [*self._receipt(frame), Close(is_error=False)]
            case "SEND":
                fix = "send changes over HTTP: POST /external/schedulings, PUT /external/jobs/"
                raise _ProtocolError("SEND is not supported", f"topics are read-only; {fix}")
            case command if command in IGNORED_COMMANDS:
                steps = []
            case "BEGIN" | "COMMIT" | "ABORT":
                raise _ProtocolError("no transactions", "transactions are not supported, because topics are read-only")
            case command:
                raise _ProtocolError("unknown command", f"{command[:40]} is not a client command")
        return [*steps, *self._receipt(frame)]

    # ---- commands ----

    def _connect(self, frame: Frame) -> list[Step]:
        if self.is_connected:
            raise _ProtocolError("already connected", "a connection has one session; open another connection")
        offered = [word.strip() for word in frame.headers.get("accept-version", V1_0).split(",")]
        common = [version for version in VERSIONS if version in offered]
        if not common:
            known = ",".join(VERSIONS)
            raise _ProtocolError("unsupported version", f"supported versions are {known}", version=known)
        if self._reader is None:
            self._credential = _token(frame)
            self._reader = self._find_reader(self._credential)
        if self._reader is None:
            raise _ProtocolError(
                "unauthorized", "send the token of the cluster as passcode, or as `Authorization: Bearer TOKEN`"
            )
        promised_ms, wanted_ms = _heartbeat(frame.headers.get("heart-beat", "0,0"))
        self.receive_interval_ms = max(promised_ms, HEARTBEAT_MS) if promised_ms else 0
        self.send_interval_ms = max(wanted_ms, HEARTBEAT_MS) if wanted_ms else 0
        self.is_connected = True
        self._decoder.version = common[-1]
        headers = {"version": common[-1], "server": SERVER, "heart-beat": f"{HEARTBEAT_MS},{HEARTBEAT_MS}"}
        return [self._write(Frame("CONNECTED", headers))]

    def _subscribe(self, frame: Frame) -> list[Step]:
        assert self._reader is not None, "connected"
        destination, ack = _required_header(frame, "destination"), frame.headers.get("ack", "auto")
        id = frame.headers.get("id", destination) if self.version == V1_0 else _required_header(frame, "id")
        if ack not in ACK_MODES:
            raise _ProtocolError("unknown ack", f"ack is one of {', '.join(ACK_MODES)}, not {ack[:40]!r}")
        if id in self._subscriptions:
            raise _ProtocolError(
                "already subscribed", f"the id {id[:200]!r} is in use; choose another, or unsubscribe it"
            )
        if len(self._subscriptions) >= SUBSCRIPTIONS_MAX:
            raise _ProtocolError("too many subscriptions", f"a connection has at most {SUBSCRIPTIONS_MAX:,}")
        try:
            topic = parse_topic(destination, frame.headers.get("namespace"), self._reader.default_namespace)
        except UnknownTopic as error:
            raise _ProtocolError("unknown destination", str(error)) from None
        includes_id = self.version != V1_0 or "id" in frame.headers
        head = "MESSAGE\n" + (header_line("subscription", id, self.version) if includes_id else "")
        head += header_line("destination", destination, self.version)
        found = Subscription(id, topic, head, ack != "auto", self._reader)
        self._subscriptions[id] = found
        return [Subscribe(found)]

    def _unsubscribe(self, frame: Frame) -> list[Step]:
        id_header = "destination" if self.version == V1_0 and "id" not in frame.headers else "id"
        id = _required_header(frame, id_header)
        found = self._subscriptions.pop(id, None)
        if found is None:
            raise _ProtocolError("not subscribed", f"subscription {id[:200]!r} does not exist")
        return [Unsubscribe(found)]

    # ---- answers ----

    def _receipt(self, frame: Frame) -> list[Step]:
        receipt = frame.headers.get("receipt")
        return [] if receipt is None else [self._write(Frame("RECEIPT", {"receipt-id": receipt}))]

    def _refuse(self, refusal: _ProtocolError, frame: Frame | None) -> list[Step]:
        self.is_closed = True
        headers = {"message": refusal.message, "content-type": "text/plain", **refusal.headers}
        if frame is not None and "receipt" in frame.headers:
            headers["receipt-id"] = frame.headers["receipt"]
        return [self._write(Frame("ERROR", headers, refusal.detail.encode())), Close(is_error=True)]

    def _write(self, frame: Frame) -> Write:
        return Write(encode(frame, self.version).decode())


def _required_header(frame: Frame, header: str) -> str:
    value = frame.headers.get(header)
    if value is None:
        raise _ProtocolError("missing header", f"a {frame.command} frame needs the header {header}")
    return value


def _token(frame: Frame) -> str:
    """The token: the passcode; without one, the login, or the HTTP header."""
    kind, _, token = frame.headers.get("Authorization", frame.headers.get("authorization", "")).partition(" ")
    if kind.lower() != "bearer":
        token = frame.headers.get("passcode") or frame.headers.get("login", "")
    token = token.strip()
    return token if len(token) <= TOKEN_SIZE_MAX and token.isascii() else ""


def _heartbeat(text: str) -> tuple[int, int]:
    """What the client can promise, and what it wants, in milliseconds; 0 is never."""
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) <= 10 for word in words):
        raise _ProtocolError("malformed heart-beat", f"heart-beat is written like 10000,10000, not {text[:40]!r}")
    promised_ms, wanted_ms = (min(int(word), HEARTBEAT_MAX_MS) for word in words)
    return promised_ms, wanted_ms
