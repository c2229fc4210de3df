#!/bin/sh
# Installs Debian's etcd-server, which the tests of several managers start as private servers. Called by `make test`.
# Without root or apt it prints what is missing, and those tests are skipped. It starts no service.
set -eu

POLICY=/usr/sbin/policy-rc.d

main() {
    ! command -v etcd >/dev/null 2>&1 || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "tests with etcd are skipped: they need Debian's etcd-server"
        return 0
    fi
    say "installing etcd-server"
    if ! { apt-get update -qq && keep_service_down && install; }; then
        say "tests with etcd are skipped: could not install etcd-server"
    fi
    let_services_start
}

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends etcd-server >/dev/null
}

# Exit code 101 forbids the package to start its own server.
keep_service_down() {
    [ ! -e "$POLICY" ] || return 0
    printf '#!/bin/sh\n# setup_etcd\nexit 101\n' >"$POLICY" && chmod +x "$POLICY"
}

let_services_start() {
    ! grep -qs '^# setup_etcd$' "$POLICY" || rm -f "$POLICY"
}

say() {
    echo "setup: $*" >&2
}

main "$@"
