"""Images that stand in for the official ones of deploy/compose, built on the spot from Debian's packages, because tests
pull nothing from a registry. They have the same interface as far as compose.yaml uses it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.services.docker_daemon import TestDaemon

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".versions"  # not part of the repository
RELEASE = "bookworm"
PACKAGES = ("python3", "python3-venv", "postgresql", "etcd-server", "etcd-client", "redis-server")
BASE = "shunter-test/base:1"
IMAGES = {
    "POSTGRES_IMAGE": "shunter-test/postgres:1",
    "ETCD_IMAGE": "shunter-test/etcd:1",
    "REDIS_IMAGE": "shunter-test/redis:1",
    "PYTHON_IMAGE": "shunter-test/python:1",
}
BUILD_MAX_S = 1800
RUNTIME, BUILD = "shunter", "hatchling"  # what the image needs of the lock file

# What the official image does with these variables.
POSTGRES_ENTRYPOINT = """#!/bin/sh
set -eu
as_postgres="setpriv --reuid=postgres --regid=postgres --clear-groups"
mkdir -p "$PGDATA" && chown postgres:postgres "$PGDATA" && chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    umask 077
    cp "$POSTGRES_PASSWORD_FILE" /tmp/password && chown postgres:postgres /tmp/password
    $as_postgres initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 >/dev/null
    rm /tmp/password
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_DB;" | $as_postgres postgres --single -j postgres >/dev/null
fi
exec $as_postgres "$@" -c listen_addresses='*' -c unix_socket_directories=/tmp
"""
DOCKERFILES = {
    "POSTGRES_IMAGE": """
        COPY entrypoint.sh /entrypoint.sh
        ENV PGDATA=/var/lib/postgresql/data PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin
        ENTRYPOINT ["sh", "/entrypoint.sh"]
        CMD ["postgres"]
    """,
    "ETCD_IMAGE": 'CMD ["etcd"]',
    "REDIS_IMAGE": 'CMD ["redis-server"]',
    "PYTHON_IMAGE": """
        COPY wheels /wheels
        ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels
        CMD ["python3"]
    """,
}


def build_images(daemon: TestDaemon, folder: Path) -> None:
    """Returns when the daemon has all images; the variables of IMAGES name them."""
    _docker(daemon, "import", str(_root_files()), BASE)
    (folder / "wheels").mkdir()
    _download_wheels(folder / "wheels")
    (folder / "entrypoint.sh").write_text(POSTGRES_ENTRYPOINT)
    for variable, lines in DOCKERFILES.items():
        text = "\n".join(line.strip() for line in lines.splitlines())
        (folder / "Dockerfile").write_text(f"FROM {BASE}\n{text}\n")
        _docker(daemon, "build", "--quiet", "--tag", IMAGES[variable], str(folder))


def _root_files() -> Path:
    """A tar of a small Debian with the packages, made once."""
    path = CACHE / f"{RELEASE}.tar"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        root = CACHE / RELEASE
        shutil.rmtree(root, ignore_errors=True)
        try:
            _run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, str(root))
            draft = path.with_suffix(".draft")
            _run("tar", "-C", str(root), "--exclude=./var/cache/apt/archives/*", "-cf", str(draft), ".")
            draft.rename(path)
        finally:
            shutil.rmtree(root, ignore_errors=True)
    return path


def _download_wheels(folder: Path) -> None:
    """Those that the Dockerfile installs, for Debian's Python: by this machine, because a build has no network."""
    lines = "".join(
        _run(sys.executable, "scripts/runtime_requirements.py", "requirements.lock", root) for root in (RUNTIME, BUILD)
    )
    without_markers = re.sub(r" ; [^\\\n]*", " ", lines)  # pip would compare them with the Python that downloads
    (folder / "wanted.lock").write_text(without_markers)
    platforms = [f"--platform=manylinux{version}_x86_64" for version in ("2014", "_2_28", "_2_36")]
    target = ["--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none", *platforms]
    words = ["download", "--quiet", "--require-hashes", "--only-binary=:all:", *target, "--dest", str(folder)]
    _run(sys.executable, "-m", "pip", *words, "--requirement", str(folder / "wanted.lock"))


def _docker(daemon: TestDaemon, *words: str) -> None:
    _run("env", "DOCKER_BUILDKIT=0", "docker", "--host", daemon.host, *words)


def _run(*words: str) -> str:
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, timeout=BUILD_MAX_S)
    assert done.returncode == 0, f"{' '.join(words)[:200]}: {done.stdout[-1000:]} {done.stderr[-2000:]}"
    return done.stdout
