"""A small OpenID Connect issuer: a real HTTP server with generated keys, whose tokens tests make as they like.

Its users sign in without a password: whoever follows the authorization URL, or approves a device, is `user`."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

CLIENT_ID = "shunter"
LIFETIME_S = 300

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class FakeIssuer:
    """`keys` are published; `responses` are given instead of what the issuer would answer, by path."""

    def __init__(self) -> None:
        self.keys: dict[str, PrivateKey] = {}
        self.responses: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []  # paths
        self.user, self.groups = "anna", ["team"]
        self.is_approved = False  # the device that waits
        self.is_disabled = False  # the user: it gets no more tokens
        self.lifetime_s = LIFETIME_S
        self.audience: str | list[str] = CLIENT_ID
        self._codes: dict[str, dict[str, str]] = {}
        self._refresh_tokens: set[str] = set()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self.add_key("key-1")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/realms/main"

    def add_key(self, id: str, kind: str = "RSA") -> None:
        if kind == "RSA":
            self.keys[id] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        else:
            self.keys[id] = ec.generate_private_key(ec.SECP256R1())

    # ---- tokens ----

    def claims(self, **changes: Any) -> dict[str, Any]:
        """None leaves a claim out."""
        now_s = int(time.time())
        claims = {
            "iss": self.url,
            "aud": self.audience,
            "sub": "id-of-anna",
            "preferred_username": self.user,
            "groups": self.groups,
            "iat": now_s,
            "exp": now_s + self.lifetime_s,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key: str | None = None, **changes: Any) -> str:
        id = key or list(self.keys)[-1]
        private = self.keys[id]
        algorithm = "RS256" if isinstance(private, rsa.RSAPrivateKey) else "ES256"
        return jwt.encode(self.claims(**changes), private, algorithm, headers={"kid": id})

    # ---- the server ----

    def start(self) -> None:
        """At the port of before, if there was one."""
        server = ThreadingHTTPServer(("127.0.0.1", self.port), type("Handler", (_Handler,), {"issuer": self}))
        self._server, self.port = server, server.server_port
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, bytes | str]:
        """The status and the body, or the place to go to."""
        self.asked.append(path)
        if path in self.responses:
            return self.responses[path]
        match path.removeprefix("/realms/main"):
            case "/.well-known/openid-configuration":
                return 200, _json(self._discovery())
            case "/keys":
                return 200, _json({"keys": [_public(id, key) for id, key in self.keys.items()]})
            case "/authorize":
                return 302, self._authorize(form)
            case "/device":
                return 200, _json(self._begin_device())
            case "/token":
                return self._give_tokens(form)
        return 404, b"{}"

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "device_authorization_endpoint": f"{self.url}/device",
        }

    def _authorize(self, query: dict[str, str]) -> str:
        code = secrets.token_urlsafe()
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], 'session_state': 'x'})}"

    def _begin_device(self) -> dict[str, Any]:
        return {
            "device_code": "device-1",
            "user_code": "ABCD-EFGH",
            "verification_uri": f"{self.url}/approve",
            "verification_uri_complete": f"{self.url}/approve?user_code=ABCD-EFGH",
            "expires_in": 60,
            "interval": 1,
        }

    def _give_tokens(self, form: dict[str, str]) -> tuple[int, bytes]:
        if self.is_disabled:
            return 400, _json({"error": "invalid_grant", "error_description": "account disabled"})
        match form["grant_type"]:
            case "authorization_code":
                return self._redeem(form)
            case "refresh_token":
                if form["refresh_token"] not in self._refresh_tokens:
                    return 400, _json({"error": "invalid_grant", "error_description": "token is not active"})
                self._refresh_tokens.remove(form["refresh_token"])
                return 200, self._tokens()
            case _:
                return (200, self._tokens()) if self.is_approved else (400, _json({"error": "authorization_pending"}))

    def _redeem(self, form: dict[str, str]) -> tuple[int, bytes]:
        asked = self._codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if (
            asked is None
            or asked["code_challenge"] != challenge.decode()
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            return 400, _json({"error": "invalid_grant", "error_description": "code is wrong"})
        return 200, self._tokens(nonce=asked["nonce"])

    def _tokens(self, **claims: Any) -> bytes:
        refresh_token = secrets.token_urlsafe()
        self._refresh_tokens.add(refresh_token)
        return _json(
            {
                "access_token": self.token(jti=secrets.token_hex(4)),
                "id_token": self.token(aud=CLIENT_ID, **claims),
                "refresh_token": refresh_token,
                "expires_in": self.lifetime_s,
                "token_type": "Bearer",
            }
        )


@contextmanager
def running_issuer() -> Iterator[FakeIssuer]:
    issuer = FakeIssuer()
    issuer.start()
    try:
        yield issuer
    finally:
        issuer.stop()


class _Handler(BaseHTTPRequestHandler):
    issuer: FakeIssuer

    def do_GET(self) -> None:
        self._answer(dict(_first(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
        self._answer(dict(_first(body)))

    def _answer(self, form: dict[str, str]) -> None:
        status, body = self.issuer.answer(urlsplit(self.path).path, form)
        self.send_response(status)
        if isinstance(body, str):
            self.send_header("location", body)
            body = b""
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


def _first(query: str) -> Iterator[tuple[str, str]]:
    return ((name, values[0]) for name, values in parse_qs(query).items())


def _public(id: str, key: PrivateKey) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        fields = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        return {**fields, "kid": id, "alg": "RS256", "use": "sig"}
    fields = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**fields, "kid": id, "alg": "ES256", "use": "sig"}


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()
