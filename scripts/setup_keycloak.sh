#!/bin/sh
# Installs Keycloak from Maven Central into .versions/keycloak, for tests of single sign-on, and Java 17 and Maven from
# Debian where they are missing. Called by `make test-identity`. Where it may not install them, it says so, and those
# tests are skipped.
set -eu
cd "$(dirname "$0")/.."

VERSION=26.0.7
FOLDER=.versions/keycloak

main() {
    [ "$(cat "$FOLDER/.installed" 2>/dev/null)" != "$VERSION" ] || return 0
    find_tool java openjdk-17-jre-headless && find_tool mvn maven && find_tool unzip unzip || return 0
    say "installing Keycloak $VERSION"
    draft=$(mktemp -d)
    trap 'rm -rf "$draft"' EXIT
    if ! { download && unzip -q "$draft/keycloak-quarkus-dist-$VERSION.zip" -d "$draft"; }; then
        say "tests of single sign-on are skipped: could not download Keycloak"
        return 0
    fi
    mkdir -p .versions
    rm -rf "$FOLDER"
    mv "$draft/keycloak-$VERSION" "$FOLDER"
    echo "$VERSION" >"$FOLDER/.installed"
}

download() {
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        "-Dartifact=org.keycloak:keycloak-quarkus-dist:$VERSION:zip" "-DoutputDirectory=$draft" >&2
}

find_tool() {
    ! command -v "$1" >/dev/null 2>&1 || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "tests of single sign-on are skipped: they need $1, as in Debian's $2"
        return 1
    fi
    say "installing $2"
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null; }; then
        say "tests of single sign-on are skipped: could not install $2"
        return 1
    fi
}

say() {
    echo "setup: $*" >&2
}

main "$@"
