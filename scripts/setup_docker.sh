#!/bin/sh
# Installs what the tests of the Docker runtime need to start a daemon of their own: Debian's docker.io, busybox-static
# and iproute2. Called by `make test`. Where it may not install, or there is no apt, it says so, and those tests are
# skipped. It starts no service and leaves an installed Docker alone.
set -eu

main() {
    missing=
    has dockerd || missing="$missing docker.io"
    has busybox && is_static || missing="$missing busybox-static"
    has ip || missing="$missing iproute2"
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] || ! has apt-get; then
        say "tests of containers are skipped: they need root and Debian's$missing"
        return 0
    fi
    say "installing$missing"
    # shellcheck disable=SC2086
    if ! { apt-get update -qq && keep_services_down && install $missing; }; then
        say "tests of containers are skipped: could not install$missing"
    fi
    let_services_start
}

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The tests' daemon is their own; the package's must not come up beside it. 101 is how a policy says no.
POLICY=/usr/sbin/policy-rc.d

keep_services_down() {
    [ ! -e "$POLICY" ] || return 0
    printf '#!/bin/sh\n# setup_docker\nexit 101\n' >"$POLICY" && chmod +x "$POLICY"
}

let_services_start() {
    ! grep -qs '^# setup_docker$' "$POLICY" || rm -f "$POLICY"
}

is_static() {
    busybox="$(PATH="$PATH:/usr/sbin:/sbin" command -v busybox)"
    ! ldd "$busybox" 2>/dev/null | grep -q '=>'
}

has() {
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1
}

say() {
    echo "setup: $*" >&2
}

main "$@"
