"""What the PostgreSQL store asks of its server, and how it says what is wrong."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from shunter.adapters.postgres import schema as store_schema
from shunter.adapters.postgres.sessions import POOL_MAX
from shunter.adapters.postgres.store import PostgresStore
from shunter.model.errors import StoreFailed
from shunter.ports.store import FinishedQuery
from tests.contracts.store_samples import finished_job, write
from tests.postgres_server import PostgresServer, running_server, running_standby
from tests.tcp_proxy import tcp_proxy

TLS = Path(__file__).parent / "tls"


async def test_several_managers_may_open_an_empty_database_at_once(url: str) -> None:
    stores = [PostgresStore(url) for _ in range(6)]
    await asyncio.gather(*(store.open() for store in stores))
    epochs = await asyncio.gather(*(store.begin_epoch() for store in stores))
    assert sorted(epochs) == [1, 2, 3, 4, 5, 6]
    await asyncio.gather(*(store.close() for store in stores))


async def test_the_schema_of_a_newer_version_is_refused(url: str, schema: str, postgres: PostgresServer) -> None:
    async with opened(url):
        pass
    admin = await asyncpg.connect(postgres.url)
    await admin.execute(f"INSERT INTO {schema}.schema_migrations VALUES (99, '0099_future')")
    await admin.close()
    known = store_schema.known_migrations()[-1].version
    with pytest.raises(StoreFailed, match=rf"newer Shunter \(its schema is 99, this one supports up to {known}\)"):
        await PostgresStore(url).open()


async def test_additions_of_a_newer_version_are_accepted(url: str, schema: str, postgres: PostgresServer) -> None:
    """Managers of two versions share the store while they are upgraded one after the other."""
    async with opened(url):
        pass
    admin = await asyncpg.connect(postgres.url)
    await admin.execute(f"INSERT INTO {schema}.schema_additions VALUES (99, '0099_future.addition')")
    versions = await admin.fetch(f"SELECT version FROM {schema}.schema_migrations ORDER BY version")
    await admin.close()
    assert [row["version"] for row in versions] == [1, 2], "an addition keeps older versions out"
    async with opened(url) as store:
        assert await store.begin_epoch() == 1


async def test_a_pooler_in_between_is_refused(postgres: PostgresServer, schema: str) -> None:
    """A pooler such as PgBouncer gives its clients cancellation keys of its own."""

    def replace_key(data: bytes) -> bytes:
        head, mark, rest = data.partition(b"K\x00\x00\x00\x0c")
        return head + mark + b"\x00\x00\x00\x01" + rest[4:] if mark else data

    async with tcp_proxy(postgres.port, replace_key) as pooler:
        with pytest.raises(StoreFailed, match=r"connection pooler is in between.*Connect to PostgreSQL itself"):
            await PostgresStore(f"{postgres.url_of('postgres', pooler.port)}?schema={schema}").open()


async def test_reads_share_a_bounded_number_of_connections(url: str, postgres: PostgresServer) -> None:
    admin = await asyncpg.connect(postgres.url)
    async with opened(f"{url}&application_name=bounded") as store:
        assert await asyncio.gather(*(store.last_version() for _ in range(50))) == [0] * 50
        found = await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bounded'")
        assert 1 < found <= POOL_MAX + 1
    await admin.close()


async def test_connections_that_the_server_ended_are_opened_again(url: str, postgres: PostgresServer) -> None:
    admin = await asyncpg.connect(postgres.url)
    async with opened(f"{url}&application_name=ended") as store:
        epoch = await store.begin_epoch()
        waiting = asyncio.create_task(store.wait_for_commit(0, timeout_s=60.0))
        await store.last_version()
        sessions = "FROM pg_stat_activity WHERE application_name = 'ended'"
        while await admin.fetchval(f"SELECT count(*) {sessions}") < 3:  # the writer, a reader and the listener
            await asyncio.sleep(0.01)
        await admin.fetch(f"SELECT pg_terminate_backend(pid) {sessions}")
        version = 0
        async with asyncio.timeout(30):
            while not waiting.done():
                try:
                    await write(store, epoch, version + 1)
                    version += 1
                except StoreFailed:
                    continue  # this connection was lost a moment ago
                await asyncio.wait((waiting,), timeout=0.05)
        assert version >= 1
        assert await store.last_version() == version
    await admin.close()


@pytest.mark.parametrize("problem", ["no server", "no database", "wrong password"])
async def test_no_message_has_the_password(
    problem: str, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    port = 1 if problem == "no server" else postgres.port
    database = "nowhere" if problem == "no database" else "postgres"
    user = "guarded" if problem == "wrong password" else "shunter"
    if problem == "wrong password":
        hba = postgres.data / "pg_hba.conf"
        hba.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        admin = await asyncpg.connect(postgres.url)
        await admin.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'; SELECT pg_reload_conf()")
        await admin.close()
    store = PostgresStore(f"postgresql://{user}:hunter2@127.0.0.1:{port}/{database}")
    with pytest.raises(StoreFailed) as failure:
        for _ in range(100):  # the server reads its configuration a moment later
            await store.open()
            await store.close()
            await asyncio.sleep(0.05)
    texts = [str(failure.value), repr(failure.value), str(failure.value.__cause__), repr(store), caplog.text]
    assert not [text for text in texts if "hunter2" in text]
    assert f"postgresql://{user}@127.0.0.1:{port}/{database}" in str(failure.value)


async def test_the_password_may_come_from_the_environment(
    postgres: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hba = postgres.data / "pg_hba.conf"
    hba.write_text("host all with_password 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
    admin = await asyncpg.connect(postgres.url)
    await admin.execute("CREATE ROLE with_password LOGIN PASSWORD 'right'; SELECT pg_reload_conf()")
    await admin.execute("GRANT CREATE ON DATABASE postgres TO with_password")
    await admin.close()
    monkeypatch.setenv("PGPASSWORD", "right")
    url = postgres.url.replace("shunter@", "with_password@")
    async with opened(f"{url}?schema={schema}") as store:  # a user that may do nothing else
        epoch = await store.begin_epoch()
        await write(store, epoch, 1)


# ---- servers that change ----


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    with running_server() as server:
        yield server


async def test_a_standby_is_refused_and_after_its_promotion_the_new_timeline(own_server: PostgresServer) -> None:
    async with opened(own_server.url) as store:
        epoch = await store.begin_epoch()
        await write(store, epoch, 1)
    own_server.stop()
    (own_server.data / "standby.signal").touch()
    own_server.start()
    with pytest.raises(StoreFailed, match=r"the server is a standby.*Name the primary"):
        await PostgresStore(own_server.url).open()
    own_server.run("pg_ctl", "promote", "-D", str(own_server.data), "-w")
    with pytest.raises(StoreFailed, match=r"is on timeline 2, and the last epoch began on timeline 1.*--accept-loss"):
        await PostgresStore(own_server.url).open()
    async with opened(own_server.url, accepts_loss=True) as store:
        assert await store.begin_epoch() > epoch + 1, "workers may know epochs that were lost"
        await write(store, await store.leading_epoch(), 2)
    async with opened(own_server.url) as store:
        assert await store.last_version() == 2


async def test_a_promoted_synchronous_standby_is_accepted_with_every_commit(own_server: PostgresServer) -> None:
    with running_standby(own_server) as standby:
        hosts = f"127.0.0.1:{own_server.port},127.0.0.1:{standby.port}"
        async with opened(f"postgresql://shunter@{hosts}/postgres?replication=synchronous") as store:
            epoch = await store.begin_epoch()
            for version in range(1, 21):
                await write(store, epoch, version)
            own_server.kill()
            standby.run("pg_ctl", "promote", "-D", str(standby.data), "-w")
            with pytest.raises(StoreFailed):
                await write(store, epoch, 21)  # on the connection that was lost
            assert await store.last_version() == 20
            await write(store, epoch, 21)
        with pytest.raises(StoreFailed, match="was written on another server"):  # a promise about standbys only
            await pretend_other_system(standby.url)
            await PostgresStore(f"{standby.url}?replication=synchronous").open()


async def pretend_other_system(url: str) -> None:
    admin = await asyncpg.connect(url)
    await admin.execute("UPDATE shunter.leadership SET system_identifier = 1")
    await admin.close()


async def test_every_acknowledged_commit_survives_kill_9_of_the_server(own_server: PostgresServer) -> None:
    async with opened(own_server.url) as store:
        for _ in range(3):
            epoch, acknowledged = await store.begin_epoch(), await store.last_version()
            killing = asyncio.get_running_loop().run_in_executor(None, own_server.kill)
            with pytest.raises(StoreFailed):
                while True:
                    await write(store, epoch, acknowledged + 1, [finished_job(acknowledged + 1)])
                    acknowledged += 1
            await killing
            await asyncio.to_thread(own_server.start)
            last = await store.last_version()
            assert last in (acknowledged, acknowledged + 1)
            assert await store.count_finished(FinishedQuery()) == last


async def test_a_copy_on_another_server_is_refused(
    own_server: PostgresServer, postgres: PostgresServer, url: str, schema: str
) -> None:
    async with opened(url) as store:
        await store.begin_epoch()
    dump = own_server.folder / "dump.sql"
    dump.write_text(own_server.run("pg_dump", "-n", schema, postgres.url))
    dump.chmod(0o644)
    own_server.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(dump), own_server.url)
    with pytest.raises(StoreFailed, match=r"was written on another server.*--accept-loss"):
        await PostgresStore(f"{own_server.url}?schema={schema}").open()


async def test_tls_is_verified(postgres: PostgresServer, schema: str) -> None:
    async with tls_front(postgres.port) as port:
        encrypted = f"postgresql://shunter@localhost:{port}/postgres?schema={schema}"
        trusted = f"sslrootcert={TLS / 'ca.crt'}"
        for parameters in ("sslmode=require", f"sslmode=verify-full&{trusted}"):
            async with opened(f"{encrypted}&{parameters}") as store:
                await store.begin_epoch()
        with pytest.raises(StoreFailed, match=r"the connection was lost"):
            await PostgresStore(f"{encrypted}&sslmode=disable").open()
        with pytest.raises(StoreFailed, match=r"certificate verify failed"):  # no authority that this machine knows
            await PostgresStore(f"{encrypted}&sslmode=verify-full&sslrootcert={TLS / 'server.crt'}").open()
        by_address = encrypted.replace("localhost", "127.0.0.1")  # the certificate names localhost
        with pytest.raises(StoreFailed, match=r"certificate is not valid for '127.0.0.1'"):
            await PostgresStore(f"{by_address}&sslmode=verify-full&{trusted}").open()


@asynccontextmanager
async def tls_front(target_port: int) -> AsyncIterator[int]:
    """Speaks TLS for the server, whose build cannot, and refuses clients that do not ask for it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
    async with tcp_proxy(target_port) as inner:

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                if await reader.readexactly(8) != bytes.fromhex("0000000804d2162f"):  # SSLRequest
                    return
                writer.write(b"S")
                await writer.start_tls(context)
                to_server_reader, to_server = await asyncio.open_connection("127.0.0.1", inner.port)
                await asyncio.gather(_pump(reader, to_server), _pump(to_server_reader, writer))
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        yield server.sockets[0].getsockname()[1]
        server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def opened(url: str, *, accepts_loss: bool = False) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, accepts_loss=accepts_loss)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
