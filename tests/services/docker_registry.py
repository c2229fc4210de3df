"""A registry with one image, on loopback, that can be told to fail: for tests of pulling. Daemons trust loopback."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from tests.services.docker_daemon import root_files

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
CONFIG = "application/vnd.docker.container.image.v1+json"


class Registry:
    """`failures` is how many requests for the manifest are still answered with 503. While `is_serving` is not set,
    layers are asked for in vain: the registry takes the request and says nothing."""

    def __init__(self, mark: str) -> None:
        self.failures = 0
        self.is_serving = Event()
        self.is_serving.set()
        self.requested_paths = 0  # for the manifest
        layer = root_files() if not mark else _with_file(mark)
        packed = gzip.compress(layer, mtime=0)
        history = [{"created": "2026-01-01T00:00:00Z"}]
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Cmd": ["/bin/true"]},
                "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
                "history": history,
            }
        ).encode()
        self.blobs = {digest(content): content for content in (packed, config)}
        self.manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": CONFIG, "size": len(config), "digest": digest(config)},
                "layers": [{"mediaType": LAYER, "size": len(packed), "digest": digest(packed)}],
            }
        ).encode()
        self.port = 0

    @property
    def image(self) -> str:
        return f"127.0.0.1:{self.port}/pulled:1"

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type, body."""
        if path.rstrip("/") == "/v2":
            return 200, "application/json", b"{}"
        if "/manifests/" in path:
            self.requested_paths += 1
            if self.failures > 0:
                self.failures -= 1
                return 503, "text/plain", b"not now"
            known = path.startswith("/v2/pulled/manifests/1") or digest(self.manifest) in path
            return (200, MANIFEST, self.manifest) if known else (404, "application/json", NOT_KNOWN)
        self.is_serving.wait()
        content = self.blobs.get(path.rpartition("/")[2])
        return (404, "text/plain", b"") if content is None else (200, "application/octet-stream", content)


NOT_KNOWN = json.dumps({"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}).encode()


@contextmanager
def registry(mark: str = "") -> Iterator[Registry]:
    """`mark` becomes a file of the image, so that images of different tests differ."""
    content = Registry(mark)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, kind, body = content.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if kind == MANIFEST:
                self.send_header("Docker-Content-Digest", digest(body))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    content.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield content
    finally:
        content.is_serving.set()
        server.shutdown()
        server.server_close()
        thread.join()


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _with_file(mark: str) -> bytes:
    packed = io.BytesIO(root_files())
    with tarfile.open(fileobj=packed, mode="a") as tar:
        entry = tarfile.TarInfo("mark")
        entry.size = len(mark)
        tar.addfile(entry, io.BytesIO(mark.encode()))
    return packed.getvalue()
