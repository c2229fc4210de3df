#!/bin/sh
# Installs a program of Debian's for tests, and for `make cluster`, which start servers as private ones. Called by the
# Makefile:
#     setup_server.sh etcd etcd-server        a program, and the package that has it
# Without root or apt it prints what is missing, and the tests with it are skipped. It starts no service.
set -eu

POLICY=/usr/sbin/policy-rc.d
PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)"  # Debian installs PostgreSQL outside of PATH

main() {
    ! command -v "$1" >/dev/null 2>&1 || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "tests with $1 are skipped: they need Debian's $2"
        return 0
    fi
    say "installing $2"
    if ! { apt-get update -qq && keep_service_down && install "$2"; }; then
        say "tests with $1 are skipped: could not install $2"
    fi
    let_services_start
}

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

# Exit code 101 forbids the package to start its own server.
keep_service_down() {
    [ ! -e "$POLICY" ] || return 0
    printf '#!/bin/sh\n# setup_server\nexit 101\n' >"$POLICY" && chmod +x "$POLICY"
}

let_services_start() {
    ! grep -qs '^# setup_server$' "$POLICY" || rm -f "$POLICY"
}

say() {
    echo "setup: $*" >&2
}

main "$@"
