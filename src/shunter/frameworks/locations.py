"""Finds Spark, Flink and Java on this machine. Used by the worker, which announces them, and by the installer.

SPARK_HOME or FLINK_HOME takes precedence over what `shunter install` created below the data folder, which all clusters
of a user share."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

JAVA_VERSIONS = (17, 21)  # that both frameworks take
JAVA_HINT = "on Debian: apt-get install openjdk-17-jre-headless; else set JAVA_HOME to a Java 17"
JVM_FOLDER = Path("/usr/lib/jvm")
JAVA_VERSION_TIMEOUT_S = 20.0
MARKER_FILE = "installed.json"  # written last: without it an installation is not whole

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kind:
    """One framework."""

    name: str
    title: str
    package: str  # on PyPI
    requirement: str
    folder: str  # of the package, within site-packages
    home_variable: str
    python_variable: str
    jar: str  # names the version
    pythons: tuple[tuple[int, int], tuple[int, int]]  # the first and the last that its package runs on


KINDS = {
    "spark": Kind(
        "spark",
        "Apache Spark",
        "pyspark",
        "pyspark>=4.0,<5",
        "pyspark",
        "SPARK_HOME",
        "PYSPARK_PYTHON",
        "jars/spark-core_*-*.jar",
        ((3, 10), (3, 14)),
    ),
    "flink": Kind(
        "flink",
        "Apache Flink",
        "apache-flink",
        "apache-flink>=2.0,<3",
        "pyflink",
        "FLINK_HOME",
        "PYFLINK_EXECUTABLE",
        "lib/flink-dist-*.jar",
        ((3, 9), (3, 12)),
    ),
}


@dataclass(frozen=True, slots=True)
class Framework:
    """One that can be used."""

    kind: str
    version: str
    home: str
    python: str  # that its Python programs run with


@dataclass(frozen=True, slots=True)
class Java:
    home: str
    version: int

    @property
    def is_supported(self) -> bool:
        return self.version in JAVA_VERSIONS


def find_framework(kind: Kind, environment: Environment = os.environ) -> Framework | None:
    if given := environment.get(kind.home_variable):
        version = version_at(kind, Path(given))
        python = environment.get(kind.python_variable) or shutil.which("python3", path=environment.get("PATH"))
        return Framework(kind.name, version, given, python or "python3") if version else None
    return read_marker(frameworks_folder(environment) / kind.name)


def frameworks_folder(environment: Environment = os.environ) -> Path:
    """SHUNTER_FRAMEWORKS, or `shunter/frameworks` in the XDG data folder."""
    if given := environment.get("SHUNTER_FRAMEWORKS"):
        return Path(given)
    data = environment.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "shunter" / "frameworks"


def version_at(kind: Kind, home: Path) -> str:
    """The version of a framework, from its largest jar's name; empty where it is not there."""
    for jar in sorted(home.glob(kind.jar)):
        return jar.stem.rpartition("-")[2]
    return ""


def read_marker(folder: Path) -> Framework | None:
    try:
        found = Framework(**json.loads((folder / MARKER_FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if Path(found.home).is_dir() and Path(found.python).exists() else None


def write_marker(folder: Path, framework: Framework) -> None:
    draft = folder / f"{MARKER_FILE}.draft"
    draft.write_text(json.dumps(asdict(framework)))
    draft.replace(folder / MARKER_FILE)


def find_java(environment: Environment = os.environ) -> Java | None:
    """JAVA_HOME, then the `java` on the path, then those of the system: the first that fits, else the first at all."""
    first = None
    for java in _java_candidates(environment):
        if java.is_supported:
            return java
        first = first or java
    return first


def _java_candidates(environment: Environment) -> Iterator[Java]:
    homes = [Path(given)] if (given := environment.get("JAVA_HOME")) else []
    if on_path := shutil.which("java", path=environment.get("PATH")):
        homes.append(Path(on_path).resolve().parent.parent)
    if JVM_FOLDER.is_dir():
        homes += sorted(folder.resolve() for folder in JVM_FOLDER.iterdir() if (folder / "bin" / "java").exists())
    for home in dict.fromkeys(homes):
        if (home / "bin" / "java").exists() and (version := _java_version(home)):
            yield Java(str(home), version)


def _java_version(home: Path) -> int:
    """From the release file next to Java; without that file, Java itself is asked."""
    try:
        text = (home / "release").read_text()
        match = re.search(r'^JAVA_VERSION="(\d+)(?:\.(\d+))?', text, re.MULTILINE)
    except OSError:
        match = None
    if match is None:
        command = [str(home / "bin" / "java"), "-version"]
        try:
            answer = subprocess.run(
                command, capture_output=True, text=True, timeout=JAVA_VERSION_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return 0
        match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr)
    if match is None:
        return 0
    return int(match[2] or 0) if match[1] == "1" else int(match[1])  # Java 8 calls itself 1.8
