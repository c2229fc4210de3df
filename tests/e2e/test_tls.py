"""A cluster with TLS: the command line, the SDK, streams and STOMP over it; wrong authorities; reload and rotation."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect as connect_websocket

from shunter import connect
from shunter.aio import connect as connect_async
from shunter.model.rest.cluster_views import EventView
from shunter.sdk.errors import Rejected
from tests.e2e.cluster import Cluster, eventually


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("home"))
    running.up("--cpu", "2", "--tls", "--external-listen", "127.0.0.1:0")
    yield running
    running.down()
    running.expect_nothing_left()


@pytest.fixture
def authorities(cluster: Cluster) -> Path:
    return cluster.home / "ca" / "ca.crt"


def url_of(cluster: Cluster) -> str:
    return str(cluster.description["url"])


def test_commands_and_sdk_trust_the_home_by_themselves(cluster: Cluster) -> None:
    assert url_of(cluster).startswith("https://127.0.0.1:")
    assert cluster.shunter("run", "--", "echo", "hello").out == "hello\n"
    with cluster.client() as client:
        assert client.run(["true"], name="once").wait(30).state == "succeeded"
    cluster.environment["SHUNTER_URL"] = url_of(cluster)
    try:
        assert cluster.items("nodes"), "the home's authority is trusted for addresses of this machine"
    finally:
        del cluster.environment["SHUNTER_URL"]


def test_private_files_are_for_their_owner_only(cluster: Cluster) -> None:
    for name in ("ca/issuer.pem", "tls/manager.key"):
        assert (cluster.home / name).stat().st_mode & 0o777 == 0o600


def test_others_name_the_authority_with_an_option_a_variable_or_a_context(
    cluster: Cluster, authorities: Path, tmp_path: Path
) -> None:
    other = Cluster(tmp_path / "other")
    del other.environment["SHUNTER_HOME"]
    other.environment |= {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    other.environment |= {"SHUNTER_URL": url_of(cluster), "SHUNTER_TOKEN": cluster.token}
    refused = other.shunter("nodes", code=2).err
    assert "is not trusted" in refused and "--ca-file" in refused
    assert other.shunter("--ca-file", str(authorities), "nodes").out
    added = other.shunter("context", "add", "far", url_of(cluster), "--ca-file", str(authorities))
    assert "context far added: cluster" in added.out
    assert other.shunter("--context", "far", "nodes").out
    other.environment["SHUNTER_CA_FILE"] = str(authorities)
    assert other.shunter("nodes").out
    other.environment["SHUNTER_CA_FILE"] = str(tmp_path / "none")
    assert "ca_file: cannot be read" in other.shunter("nodes", code=2).err


def test_plain_http_to_a_tls_port_is_told_to_use_https(cluster: Cluster) -> None:
    plain = url_of(cluster).replace("https://", "http://")
    cluster.environment["SHUNTER_URL"] = plain
    try:
        refused = cluster.shunter("nodes", code=2).err
    finally:
        del cluster.environment["SHUNTER_URL"]
    assert f"{plain} speaks HTTPS; write the address as {url_of(cluster)}" in refused

    async def ask() -> None:
        async with connect_async(plain, "token", patience_s=0) as client:
            await client.cluster()

    with pytest.raises(Rejected, match="speaks HTTPS"):
        asyncio.run(ask())


def test_https_to_a_plain_port_is_told_to_use_http(home: Cluster) -> None:
    home.up()
    url = url_of(home).replace("http://", "https://")
    with connect(url, "token", patience_s=0) as client, pytest.raises(Rejected, match="does not speak HTTPS"):
        client.cluster()


def test_another_authority_is_refused_by_both_transports(cluster: Cluster, home: Cluster) -> None:
    home.shunter("ca", "init")
    strange = home.home / "ca" / "ca.crt"

    async def ask() -> None:
        async with connect_async(url_of(cluster), "token", ca_file=strange, patience_s=0) as client:
            await client.cluster()

    with pytest.raises(Rejected, match="is not trusted"):
        asyncio.run(ask())
    with connect(url_of(cluster), "token", ca_file=strange) as client, pytest.raises(Rejected, match="is not trusted"):
        client.cluster()


def test_stomp_works_over_tls(cluster: Cluster, authorities: Path) -> None:
    context = ssl.create_default_context(cafile=authorities)
    for url in (url_of(cluster), cluster.description["external"]):
        address = url.replace("https://", "wss://") + "/scheduler"
        headers = {"Authorization": f"Bearer {cluster.token}"}
        with connect_websocket(address, ssl=context, additional_headers=headers, open_timeout=10) as stomp:
            stomp.send("CONNECT\naccept-version:1.2\nhost:shunter\n\n\0")
            assert str(stomp.recv(timeout=10)).startswith("CONNECTED")


def test_an_open_stream_and_new_connections_live_through_a_rotation(cluster: Cluster, authorities: Path) -> None:
    """The stream stays; whoever knows only the old authority gets in by the chain; then the old one is dropped."""
    old_bundle = authorities.read_bytes()
    before = served_certificate(cluster)
    with cluster.client() as client:
        seen: list[str | None] = []
        events = client.events(follow=True)
        reader = threading.Thread(target=lambda: seen.extend(event.job for event in take_until(events, "after")))
        reader.start()
        client.run(["true"], name="before").wait(30)
        old = cluster.items("ca", "list")[0]["id"]
        cluster.shunter("ca", "rotate")
        eventually(lambda: served_certificate(cluster) != before, "the manager has a certificate of the new authority")
        ssl_get(cluster, old_bundle)
        ssl_get(cluster, authorities.read_bytes())
        assert cluster.shunter("run", "--", "echo", "rotated").out == "rotated\n"
        client.run(["true"], name="after").wait(30)
        reader.join(30)
        assert not reader.is_alive() and "before" in seen and seen[-1] == "after"
    cluster.shunter("ca", "drop", old)
    after_rotation = served_certificate(cluster)
    eventually(lambda: ssl_is_refused(cluster, old_bundle), "who knows only the dropped authority is refused")
    assert after_rotation and cluster.items("nodes")


def test_a_broken_file_does_not_replace_a_good_certificate(home: Cluster) -> None:
    home.shunter("ca", "init")
    folder = home.home / "own"
    for name in ("one", "two"):
        home.shunter("ca", "issue", "server", name, "--host", "127.0.0.1", "--out", str(folder / name))
    serving = {"cert": folder / "one" / "server.crt", "key": folder / "one" / "server.key"}
    lines = "".join(f'{key} = "{path}"\n' for key, path in serving.items())
    (home.home / "config.toml").write_text(f"[tls]\n{lines}")
    home.up()
    first = served_certificate(home)
    serving["cert"].write_bytes((folder / "two" / "server.crt").read_bytes())  # and the key of the other
    eventually(lambda: "tls.not_reloaded" in home.log(), "the manager says that it has not reloaded")
    assert served_certificate(home) == first
    replace(folder / "two" / "server.key", serving["key"])
    eventually(lambda: served_certificate(home) != first, "the manager has the other certificate")
    assert home.items("nodes")


def test_whoever_is_silent_or_speaks_no_tls_keeps_nobody_out(cluster: Cluster) -> None:
    host, _, port = url_of(cluster).removeprefix("https://").rpartition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(50)]
    for each in silent[:25]:
        each.sendall(b"GET / HTTP/1.1\r\n\r\n")
    try:
        assert cluster.items("nodes")
        for each in silent[:25]:
            each.settimeout(10)
            assert ended(each)
    finally:
        for each in silent:
            each.close()


def test_other_machines_are_let_in_with_tls_or_on_request_only(home: Cluster) -> None:
    refused = home.shunter("up", "--detach", "--listen", "0.0.0.0:0", code=2).err
    assert "without TLS" in refused and "--tls" in refused and "--insecure" in refused
    home.up("--listen", "0.0.0.0:0", "--tls")
    names = json.loads(home.shunter("ca", "list", "-o", "json").out)["items"]
    assert len(names) == 1


def take_until(events: Iterator[EventView], job: str) -> Iterator[EventView]:
    for event in events:
        yield event
        if event.job == job:
            return


def served_certificate(cluster: Cluster) -> str:
    host, _, port = url_of(cluster).removeprefix("https://").rpartition(":")
    return ssl.get_server_certificate((host, int(port)))


def ssl_get(cluster: Cluster, trusted: bytes) -> None:
    context = ssl.create_default_context(cadata=trusted.decode())
    with urllib.request.urlopen(f"{url_of(cluster)}/healthz", context=context, timeout=10) as answer:
        assert answer.status == 200


def ssl_is_refused(cluster: Cluster, trusted: bytes) -> bool:
    try:
        ssl_get(cluster, trusted)
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLCertVerificationError)
    return False


def replace(source: Path, target: Path) -> None:
    draft = target.with_suffix(".draft")
    draft.write_bytes(source.read_bytes())
    os.replace(draft, target)  # noqa: PTH105


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
