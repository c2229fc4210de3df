#!/bin/sh
# Installs what the tests of the Docker runtime need to start private daemons: Debian's docker.io, podman, busybox-static
# and iproute2. Called by `make test`. Without root or apt it prints what is missing, and those tests are skipped. It
# starts no service and leaves an installed Docker alone.
set -eu

main() {
    missing=
    has dockerd || missing="$missing docker.io"
    has podman || missing="$missing podman"
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

# The tests start their own daemon, so the package must not start another. Exit code 101 forbids it.
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
