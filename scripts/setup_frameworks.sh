#!/bin/sh
# Installs what BatchJobs with Spark and Flink need: Debian's Java 17 where there is none, and both frameworks by
# `shunter install`. Called by `make test-frameworks`. Where it may not install them, it says so, and those tests are
# skipped.
set -eu
cd "$(dirname "$0")/.."

main() {
    has_java || add_java || return 0
    .venv/bin/shunter install spark flink || say "tests of Spark and Flink are skipped: could not install them"
}

has_java() {
    .venv/bin/python - <<'END'
import sys
from shunter.frameworks.locations import find_java

java = find_java()
sys.exit(java is None or not java.is_supported)
END
}

add_java() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "tests of Spark and Flink are skipped: they need root and Debian's openjdk-17-jre-headless, or a Java 17"
        return 1
    fi
    say "installing openjdk-17-jre-headless"
    if ! { apt-get update -qq && install openjdk-17-jre-headless; }; then
        say "tests of Spark and Flink are skipped: could not install Java 17"
        return 1
    fi
}

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

say() {
    echo "setup: $*" >&2
}

main "$@"
