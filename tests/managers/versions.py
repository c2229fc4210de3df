"""Other versions of Shunter that can run beside this one: an older one from a commit of this repository, and one with
the next format of the store, made from this checkout. Used by test_mixed_versions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.manager_cluster import SHUNTER

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".versions"  # not part of the repository
UPGRADE_PAGE = "docs/operations/upgrade.md"  # the commit that added it has all that a rolling upgrade needs
INSTALL_MAX_S = 600
NEXT_VERSION = "99.0.0"


@dataclass(frozen=True, slots=True)
class Version:
    name: str
    program: Path
    variables: dict[str, str] = field(default_factory=dict)


CURRENT = Version("current", SHUNTER)


def install_oldest() -> Version:
    """The oldest commit that can be upgraded one manager at a time, with a virtual environment of its own, as its own
    setup makes it."""
    commit = _find_oldest()
    folder = CACHE / commit[:12]
    if not (folder / ".installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _extract(commit, folder)
        done = subprocess.run(
            ["sh", "scripts/setup.sh"], cwd=folder, capture_output=True, text=True, timeout=INSTALL_MAX_S
        )
        assert done.returncode == 0, f"commit {commit[:12]} cannot be installed: {done.stderr[-2000:]}"
        (folder / ".installed").touch()
    return Version(commit[:12], folder / ".venv" / "bin" / "shunter")


def _find_oldest() -> str:
    """Found by the page that it added: a hash would change with the commits before it."""
    added = _git("log", "--diff-filter=A", "--format=%H", "--", UPGRADE_PAGE).stdout.decode().split()
    is_shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    assert added and not is_shallow, "this test needs the whole history of the repository: git fetch --unshallow"
    return added[-1]


def _extract(commit: str, folder: Path) -> None:
    archive = _git("archive", commit)
    assert archive.returncode == 0, archive.stderr.decode()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True)


def make_next_version(folder: Path) -> Version:
    """This checkout with a newer format of the store, in which holding a job is new, and with a newer version number.
    The rest of it is the same, so it shows what the format alone does."""
    copy = folder / "next"
    shutil.copytree(REPOSITORY / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    formats = copy / "shunter" / "engine" / "changes" / "formats.py"
    _replace_line(formats, "FORMAT = ", f"FORMAT = {current_format() + 1}")
    with formats.open("a") as file:
        file.write("SINCE[c.JobHeld] = FORMAT\nFORMATS = Formats()\n")
    _replace_line(copy / "shunter" / "__init__.py", "__version__ = ", f'__version__ = "{NEXT_VERSION}"')
    for path in (folder, copy):
        path.chmod(0o755)
    return Version("next", SHUNTER, {"PYTHONPATH": str(copy)})


def current_format() -> int:
    script = "from shunter.engine.changes.formats import FORMAT; print(FORMAT)"
    return int(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)


def _replace_line(path: Path, start: str, line: str) -> None:
    lines = path.read_text("utf-8").splitlines()
    [number] = [number for number, found in enumerate(lines) if found.startswith(start)]
    lines[number] = line
    path.write_text("\n".join(lines) + "\n", "utf-8")
