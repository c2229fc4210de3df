"""A cluster without a single point of failure on this machine: 3 managers, 3 workers, PostgreSQL, etcd and Redis as
ordinary processes on loopback. Called by `make cluster` and `make cluster-down`.

    cluster.py up FOLDER      start what is not running, and say what to try
    cluster.py down FOLDER    stop everything, and remove the folder

The folder has a home for each process, `logs/`, `pids/NAME.pid`, `env` to source, and `secrets.key` for the secrets of
jobs."""

from __future__ import annotations

import base64
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MANAGERS = ("m1", "m2", "m3")
WORKERS = ("w1", "w2", "w3")
WORKER_CPUS = 2
REQUESTS_PER_S = 2_000  # of each user
START_MAX_S = 60.0
STOP_MAX_S = 15.0
DATABASE_USER = "postgres"  # PostgreSQL refuses to run as root
TASK_USER = "nobody"  # of the workers of root
SHUNTER = str(Path(sys.executable).parent / "shunter")


def main(arguments: list[str]) -> int:
    verb, folder = arguments
    cluster = Cluster(Path(folder).absolute())
    if verb == "down":
        cluster.stop()
        return 0
    cluster.start()
    print(f"""
The cluster is up: {len(MANAGERS)} managers, {len(WORKERS)} workers, PostgreSQL, etcd and Redis.

    . {folder}/env                       # SHUNTER_URL and SHUNTER_TOKEN, for the commands below
    shunter managers                     # who leads
    shunter run --count 100 -- sleep 1

Kill the leader, and see who leads then:

    kill -9 $(cat {folder}/pids/{cluster.find_leader()}.pid); sleep 3; shunter managers

`make cluster` starts what is missing. `make cluster-down` stops and removes everything.""")
    return 0


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    command: list[str]
    is_ready: Callable[[], bool]
    environment: dict[str, str] = field(default_factory=dict)


class Cluster:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    # ---- start ----

    def start(self) -> None:
        for name in ("", "logs", "pids", *MANAGERS, *WORKERS):
            (self._folder / name).mkdir(mode=0o700, exist_ok=True)
        self._ports = self._read_ports()
        self._write_secrets()
        self._write_configs()
        self._create_database()
        for group in ((self._postgres(), self._etcd(), self._redis()), self._managers(), self._workers()):
            started = [process for process in group if self._start_process(process)]
            for process in started:
                self._wait_until_ready(process)
        self._wait_for("a leader and all workers", self._is_complete)

    def _start_process(self, process: Process) -> bool:
        """False if it runs already."""
        if self._find_pid(process.name) is not None:
            return False
        with (self._folder / "logs" / f"{process.name}.log").open("ab") as log:
            started = subprocess.Popen(
                process.command,
                env={**os.environ, **process.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._folder,
            )
        (self._folder / "pids" / f"{process.name}.pid").write_text(f"{started.pid}\n")
        print(f"started {process.name}", flush=True)
        return True

    def _wait_until_ready(self, process: Process) -> None:
        def is_ready() -> bool:
            if self._find_pid(process.name) is None:
                raise SystemExit(f"{process.name} has ended: see {self._folder}/logs/{process.name}.log")
            return process.is_ready()

        self._wait_for(process.name, is_ready)

    def _wait_for(self, what: str, is_true: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + START_MAX_S
        while not is_true():
            if time.monotonic() > deadline_s:
                raise SystemExit(f"{what}: not there after {START_MAX_S:.0f} s; see {self._folder}/logs")
            time.sleep(0.05)

    # ---- its parts ----

    def _postgres(self) -> Process:
        port = self._ports["postgres"]
        command = [f"{_postgres_programs()}/postgres", "-D", str(self._folder / "postgres"), "-p", str(port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        return Process("postgres", [*_as_database_user(), *command], self._is_database_ready)

    def _create_database(self) -> None:
        data = self._folder / "postgres"
        if (data / "PG_VERSION").exists():
            return
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(mode=0o700)
        password = self._folder / "postgres-password"
        password.write_text(secrets.token_urlsafe(24))
        password.chmod(0o600)
        if os.geteuid() == 0:
            for path in (data, password):
                shutil.chown(path, DATABASE_USER)
        create = ["-D", str(data), "-U", "shunter", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8"]
        command = [*_as_database_user(), f"{_postgres_programs()}/initdb", *create, "--locale=C"]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        if done.returncode != 0:
            raise SystemExit(f"initdb: {done.stderr.strip()}")
        url = f"postgresql://shunter:{password.read_text()}@127.0.0.1:{self._ports['postgres']}/postgres"
        _write_secret(self._folder / "store-url", url)

    def _is_database_ready(self) -> bool:
        command = [f"{_postgres_programs()}/pg_isready", "-h", "127.0.0.1", "-p", str(self._ports["postgres"]), "-q"]
        return subprocess.run(command).returncode == 0

    def _etcd(self) -> Process:
        client, peer = (f"http://127.0.0.1:{self._ports[name]}" for name in ("etcd", "etcd-peer"))
        command = ["etcd", "--name", "etcd", "--data-dir", str(self._folder / "etcd")]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        return Process("etcd", [*command, "--initial-cluster", f"etcd={peer}"], self._is_listening("etcd"))

    def _redis(self) -> Process:
        """It keeps nothing on disk: the cluster only becomes slower without it."""
        command = ["redis-server", "--port", str(self._ports["redis"]), "--bind", "127.0.0.1", "--save", ""]
        return Process("redis", [*command, "--dir", str(self._folder)], self._is_listening("redis"))

    def _managers(self) -> list[Process]:
        def build(name: str) -> Process:
            command = [SHUNTER, "manager", "--name", name, "--listen", f"127.0.0.1:{self._ports[name]}"]
            command += ["--workers-listen", f"127.0.0.1:{self._ports[f'{name}-workers']}"]
            command += ["--coordination", f"etcd://127.0.0.1:{self._ports['etcd']}"]
            environment = {
                "SHUNTER_HOME": str(self._folder / name),
                "SHUNTER_STORE_URL_FILE": str(self._folder / "store-url"),
                "SHUNTER_SECRETS_KEY_FILE": str(self._secrets_key),
            }
            return Process(name, command, self._is_listening(name), environment)

        return [build(name) for name in MANAGERS]

    def _workers(self) -> list[Process]:
        managers = ",".join(f"127.0.0.1:{self._ports[f'{name}-workers']}" for name in MANAGERS)
        options = ["--manager", managers, "--token-file", str(self._folder / MANAGERS[0] / "worker-token")]
        options += ["--cpu", str(WORKER_CPUS), *(("--task-user", TASK_USER) if os.geteuid() == 0 else ())]
        return [
            Process(
                name,
                [SHUNTER, "worker", "--name", name, *options],
                lambda: True,
                {"SHUNTER_HOME": str(self._folder / name)},
            )
            for name in WORKERS
        ]

    def _is_complete(self) -> bool:
        """Whether a manager leads and all workers have joined it."""
        done = self._run_shunter("nodes", "--output", "json")
        if done.returncode != 0:
            return False
        ready = [node for node in json.loads(done.stdout)["items"] if node["state"] == "ready"]
        return len(ready) >= len(WORKERS)

    def _run_shunter(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self._client_environment()}
        return subprocess.run([SHUNTER, *words], capture_output=True, text=True, env=environment)

    # ---- its files ----

    def _read_ports(self) -> dict[str, int]:
        """Free ports, chosen once, so that addresses stay the same when something is started again."""
        path = self._folder / "ports.json"
        if not path.exists():
            names = ["postgres", "etcd", "etcd-peer", "redis", *MANAGERS, *(f"{name}-workers" for name in MANAGERS)]
            path.write_text(json.dumps(dict(zip(names, _free_ports(len(names)), strict=True)), indent=2) + "\n")
        ports: dict[str, int] = json.loads(path.read_text())
        return ports

    def _write_secrets(self) -> None:
        """All managers have the same tokens, and the same key for the secrets of jobs."""
        if not self._secrets_key.exists():
            own = self._folder / MANAGERS[0] / self._secrets_key.name  # somebody may have made one
            key = own.read_text() if own.exists() else f"{base64.b64encode(secrets.token_bytes(32)).decode()}\n"
            _write_secret(self._secrets_key, key)
        for name in ("token", "worker-token"):
            first = self._folder / MANAGERS[0] / name
            if not first.exists():
                _write_secret(first, secrets.token_urlsafe(32))
            for manager in MANAGERS[1:]:
                _write_secret(self._folder / manager / name, first.read_text())
        lines = [f"export {name}={value}\n" for name, value in self._client_environment().items()]
        lines.append(
            f'case ":$PATH:" in *":{Path(SHUNTER).parent}:"*) ;; *) PATH="{Path(SHUNTER).parent}:$PATH" ;; esac\n'
        )
        _write_secret(self._folder / "env", "".join(lines))

    def _write_configs(self) -> None:
        """All managers count requests together in Redis. What is there stays: it may have been edited."""
        redis = f"redis://127.0.0.1:{self._ports['redis']}/0"
        for manager in MANAGERS:
            path = self._folder / manager / "config.toml"
            if not path.exists():
                path.write_text(f'[api]\nlimits = "{redis}"\nrequests_per_s = {REQUESTS_PER_S}\n')

    @property
    def _secrets_key(self) -> Path:
        return self._folder / "secrets.key"

    def _client_environment(self) -> dict[str, str]:
        urls = ",".join(f"http://127.0.0.1:{self._ports[name]}" for name in MANAGERS)
        return {"SHUNTER_URL": urls, "SHUNTER_TOKEN": (self._folder / MANAGERS[0] / "token").read_text()}

    def _find_pid(self, name: str) -> int | None:
        """The process that was started as `name`, if it runs. Its number may have gone to another process since."""
        try:
            pid = int((self._folder / "pids" / f"{name}.pid").read_text())
        except (OSError, ValueError):
            return None
        return pid if self._owns(pid) else None

    def _owns(self, pid: int) -> bool:
        """Whether a process runs in the folder. (Redis writes over its command and environment.)"""
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            place = Path(f"/proc/{pid}/cwd").readlink()
        except OSError:
            return False
        return state not in ("Z", "X") and f"{place}/".startswith(f"{self._folder}/")

    def _find_keepers(self) -> list[int]:
        """Keepers that have outlived their worker."""
        mark = f"{self._folder}/".encode()

        def is_keeper(pid: int) -> bool:
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                return False
            return mark in command and b"keeper_main" in command

        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and is_keeper(int(path.name))]

    def _is_listening(self, name: str) -> Callable[[], bool]:
        def check() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self._ports[name])) == 0

        return check

    # ---- stop ----

    def stop(self) -> None:
        """The leader stops the tasks and all workers. Whatever is still there then is ended."""
        if not self._folder.exists():
            print("no cluster is there")
            return
        self._ports = self._read_ports()
        self._stop_tasks()
        for names in (MANAGERS, WORKERS):
            self._end([pid for name in names if (pid := self._find_pid(name)) is not None], signal.SIGTERM)
        for pid in self._find_keepers():
            os.kill(pid, signal.SIGKILL)
        servers = [pid for name in ("postgres", "etcd", "redis") if (pid := self._find_pid(name)) is not None]
        self._end(servers, signal.SIGINT)  # PostgreSQL ends its sessions, then stops
        shutil.rmtree(self._folder)
        print("the cluster is stopped and removed")

    def find_leader(self) -> str:
        """Its name; empty if nobody leads, or nobody answers."""
        done = self._run_shunter("managers", "--output", "json")
        managers = json.loads(done.stdout)["items"] if done.returncode == 0 else []
        return next((manager["name"] for manager in managers if manager["role"] == "leader"), "")

    def _stop_tasks(self) -> None:
        if leader := self.find_leader():
            environment = {**os.environ, "SHUNTER_HOME": str(self._folder / leader)}
            subprocess.run([SHUNTER, "down", "--cluster", "--yes"], env=environment, capture_output=True)

    def _end(self, pids: list[int], number: signal.Signals) -> None:
        for pid in pids:
            os.kill(pid, number)
        deadline_s = time.monotonic() + STOP_MAX_S
        while any(self._owns(pid) for pid in pids):
            if time.monotonic() > deadline_s:
                for pid in filter(self._owns, pids):
                    os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.05)


def _postgres_programs() -> str:
    """Debian installs the server outside of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    path = str(found[-1]) if found else shutil.which("postgres")
    if path is None:
        raise SystemExit("postgres not found: install Debian's postgresql")
    return str(Path(path).parent)


def _as_database_user() -> list[str]:
    """Root becomes another user, which may pass through folders that are only root's."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam(DATABASE_USER)
    identity = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return ["setpriv", *identity, "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]


def _write_secret(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _free_ports(count: int) -> Iterator[int]:
    """They are all held until the last one is found, so no two are the same."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    for each in sockets:
        yield each.getsockname()[1]
    for each in sockets:
        each.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
