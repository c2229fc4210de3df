"""Build the jars of these examples: `.venv/bin/python build_jars.py [FOLDER]` (default: `jars/` next to it).

It needs no compilers besides those of the frameworks: Spark includes the Scala compiler, and Java 17 includes its own,
even without a `javac` command.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from shunter.frameworks.locations import KINDS, find_framework, find_java

HERE = Path(__file__).resolve().parent


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    java = find_java()
    if java is None or not java.is_supported:
        sys.exit("there is no Java 17 or 21")
    program = f"{java.home}/bin/java"
    libraries = jars_of("spark", "jars")
    scala = [program, "-cp", libraries, "scala.tools.nsc.Main", "-nowarn", "-cp", libraries]
    build([*scala, str(HERE / "jvm" / "SparkWords.scala")], folder / "spark-words.jar")
    compiler = [program, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", jars_of("flink", "lib")]
    build([*compiler, *map(str, sorted((HERE / "jvm").glob("*.java")))], folder / "flink-examples.jar")


def jars_of(name: str, part: str) -> str:
    framework = find_framework(KINDS[name])
    if framework is None:
        sys.exit(f"{name} is not installed: shunter install {name}")
    return ":".join(map(str, sorted(Path(framework.home, part).glob("*.jar"))))


def build(command: list[str], jar: Path) -> None:
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run([*command, "-d", classes], check=True)
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(Path(classes).rglob("*.class")):
                file.write(path, path.relative_to(classes))
    print(jar)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "jars")
