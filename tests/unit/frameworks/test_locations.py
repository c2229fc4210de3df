"""Spark, Flink and Java are found where they are, and an unfinished installation is not taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.frameworks import locations
from shunter.frameworks.locations import (
    KINDS,
    Framework,
    find_framework,
    find_java,
    frameworks_folder,
    read_marker,
    write_marker,
)


def make_framework_home(folder: Path, jar: str) -> Path:
    path = folder / jar
    path.parent.mkdir(parents=True)
    path.touch()
    return folder


def make_java_home(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("name", "jar", "version"),
    [("spark", "jars/spark-core_2.13-4.0.1.jar", "4.0.1"), ("flink", "lib/flink-dist-2.3.0.jar", "2.3.0")],
)
def test_a_home_that_is_set_goes_first(tmp_path: Path, name: str, jar: str, version: str) -> None:
    kind, home = KINDS[name], make_framework_home(tmp_path / "home", jar)
    environment = {kind.home_variable: str(home), "PATH": "", "SHUNTER_FRAMEWORKS": str(tmp_path)}
    (tmp_path / name).mkdir()
    write_marker(tmp_path / name, Framework(name, "1.0", str(home), str(home)))
    found = find_framework(kind, environment)
    assert found is not None
    assert (found.version, found.home) == (version, str(home))


def test_a_home_without_the_framework_is_none(tmp_path: Path) -> None:
    assert find_framework(KINDS["spark"], {"SPARK_HOME": str(tmp_path), "PATH": ""}) is None


def test_what_was_installed_is_found_by_its_mark_and_only_while_it_is_there(tmp_path: Path) -> None:
    home = make_framework_home(tmp_path / "pyspark", "jars/spark-core_2.13-4.0.1.jar")
    framework = Framework("spark", "4.0.1", str(home), str(home))
    assert read_marker(tmp_path) is None
    write_marker(tmp_path, framework)
    assert read_marker(tmp_path) == framework
    (tmp_path / "pyspark").rename(tmp_path / "elsewhere")
    assert read_marker(tmp_path) is None


def test_all_clusters_of_a_user_share_one_folder(tmp_path: Path) -> None:
    assert frameworks_folder({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "shunter" / "frameworks"
    assert frameworks_folder({}) == Path.home() / ".local" / "share" / "shunter" / "frameworks"
    assert frameworks_folder({"SHUNTER_FRAMEWORKS": str(tmp_path)}) == tmp_path


def test_the_first_java_that_fits_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations, "JVM_FOLDER", tmp_path / "jvm")
    old, good = make_java_home(tmp_path / "old", "1.8.0_402"), make_java_home(tmp_path / "jvm" / "java-17", "17.0.15")
    found = find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert found is not None
    assert (found.home, found.version, found.is_supported) == (str(good), 17, True)


def test_a_java_that_does_not_fit_is_told_and_none_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations, "JVM_FOLDER", tmp_path / "none")
    found = find_java({"JAVA_HOME": str(make_java_home(tmp_path / "old", "1.8.0_402")), "PATH": ""})
    assert found is not None
    assert (found.version, found.is_supported) == (8, False)
    assert find_java({"PATH": ""}) is None


def test_a_java_without_a_release_file_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations, "JVM_FOLDER", tmp_path / "none")
    home = make_java_home(tmp_path / "java", "17")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\" 2024-01-16' >&2\n")
    found = find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert found is not None
    assert found.version == 21
