"""Writes the blocking client from the async one. Called by `make client`; a test compares.

The async client is the source because it holds more: removing every `await` is mechanical, adding them is not.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent / "src" / "shunter" / "sdk"
SOURCE_BY_TARGET = {"client.py": "async_client.py", "job.py": "async_job.py"}
HEADER = "# Generated from {source}: change that file, then run `make client`.\n"

# A pattern in the async client and its replacement in the blocking one, applied in this order.
RULES = (
    (r"\[(\w+) async for \1 in (.+)\]", r"list(\2)"),
    (r"\.aclose\(", ".close("),
    (r"\basync (?=def |for )", ""),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAsyncGenerator\[FollowLine, None\]", "Generator[FollowLine, None, Ended]"),
    (r"\bAsync(Generator|Iterator)\b", r"\1"),
    (r"\btransport\.asynchronous\b", "transport.blocking"),
    (r"\basync_(client|job)\b", r"\1"),
    (r"\bthe async client\b", "the blocking client"),
    (r"The async client: `shunter\.aio\.connect\(\)`", "The blocking client: `shunter.connect()`"),
    (r"Use it as a context manager, in one event loop\.", "Use it as a context manager; threads may share it."),
)


def main() -> None:
    for name, text in blocking_files().items():
        (SDK / name).write_text(text, encoding="utf-8")


def blocking_files() -> dict[str, str]:
    """The text of every generated file, by its name in `sdk/`."""
    sources = {target: (SDK / source).read_text(encoding="utf-8") for target, source in SOURCE_BY_TARGET.items()}
    unused = [pattern for pattern, _ in RULES if not any(re.search(pattern, text) for text in sources.values())]
    if unused:
        raise SystemExit(f"no line of the async client matches {unused}: remove these rules or correct them")
    return {target: _tidy(target, _blocking(target, text)) for target, text in sources.items()}


def _blocking(target: str, text: str) -> str:
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return HEADER.format(source=SOURCE_BY_TARGET[target]) + text


def _tidy(target: str, text: str) -> str:
    """Drop imports that only the async client needs, sort the others, and join lines that are short enough now."""
    for command in (["check", "--fix-only", "--select", "F401,I"], ["format"]):
        arguments = [*command, "--quiet", "--stdin-filename", str(SDK / target), "-"]
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    main()
