#!/bin/sh
# Finds a Go that is new enough for tests/foreign, or installs one in the user's cache. Called by `make test-go`.
# Debian's Go is too old to build them and to fetch a newer one by itself, but it downloads and verifies the module that has
# one. Where that may not be installed, this says so, and the tests are skipped.
set -eu
cd "$(dirname "$0")/.."

VERSION=1.25.0
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/shunter/foreign

main() {
    if is_new_enough go || [ -x "$CACHE/go/bin/go" ]; then return 0; fi
    sh scripts/setup_server.sh go golang
    command -v go >/dev/null 2>&1 || return 0
    is_new_enough go || install || say "tests in Go are skipped: could not download Go $VERSION"
}

# `go` from 1.21 on fetches what go.mod asks for.
is_new_enough() {
    command -v "$1" >/dev/null 2>&1 && (cd tests/foreign/go && "$1" list -m >/dev/null 2>&1)
}

install() {
    say "downloading Go $VERSION"
    arch=$(go env GOARCH) && modules=$(go env GOMODCACHE) || return 1
    module=golang.org/toolchain@v0.0.1-go$VERSION.linux-$arch
    (cd / && go mod download "$module") || return 1
    mkdir -p "$CACHE"
    rm -rf "$CACHE/go.draft"
    cp -r "$modules/$module" "$CACHE/go.draft" && chmod -R u+w "$CACHE/go.draft" || return 1
    chmod +x "$CACHE"/go.draft/bin/* "$CACHE"/go.draft/pkg/tool/*/*  # a module has no executable files
    mv "$CACHE/go.draft" "$CACHE/go"
}

say() {
    echo "setup: $*" >&2
}

main "$@"
