#!/bin/sh
# Makes .venv with the locked dependencies and Shunter itself in it. Called by `make setup` and `make setup-bench`.
#
# It needs a Python of 3.11 or newer and a package registry that uv or pip can reach, and tries in turn: uv; the venv
# module with its own pip; the venv module with the system's pip; Debian's python3-venv package, where it may install it.
# With nothing to do it ends within a few milliseconds: the stamp in .venv names what was installed.
set -eu
cd "$(dirname "$0")/.."

VENV=.venv
PYTHONS="python3.11 python3.12 python3.13 python3 python3.14 /usr/bin/python3"

main() {
    case "${1:-everyday}" in
        everyday) LOCK=requirements.lock ;;
        bench) LOCK=requirements-bench.lock ;;
        *) say "usage: scripts/setup.sh [everyday|bench]" && exit 2 ;;
    esac
    stamp="$VENV/.setup-${1:-everyday}"
    # The folder is part of the stamp, because the scripts in .venv/bin name it: a moved clone is set up again.
    wanted="$(pwd) $(cat "$LOCK" pyproject.toml scripts/setup.sh | cksum)"
    if [ -x "$VENV/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    for way in with_uv with_venv with_system_pip with_debian_package; do
        if "$way"; then
            # pip compiles packages by itself. What is not compiled is compiled at every start where
            # PYTHONDONTWRITEBYTECODE is set, which doubles the time of a command.
            "$VENV/bin/python" -m compileall -q src
            printf '%s\n' "$wanted" >"$stamp"
            return
        fi
    done
    say "no way worked: Shunter needs Python 3.11 or newer, a package registry, and one of uv, python3-venv or python3-pip"
    exit 1
}

# Every step of a way is joined by &&, because `set -e` is off inside a condition.

with_uv() {
    uv --version >/dev/null 2>&1 || return 1
    say "installing $LOCK with uv"
    { is_usable || uv venv --quiet --clear --python "$(find_python || echo 3.11)" "$VENV"; } &&
        uv pip install --quiet --compile-bytecode --python "$VENV/bin/python" --require-hashes --requirement "$LOCK" &&
        uv pip install --quiet --python "$VENV/bin/python" --no-deps --no-build-isolation --editable .
}

with_venv() {
    python=$(find_python) && "$python" -c 'import venv; from ensurepip import bootstrap' 2>/dev/null || return 1
    say "installing $LOCK with pip"
    make_venv && { has_pip || "$VENV/bin/python" -m ensurepip >/dev/null; } && pip_install "$VENV/bin/python" -m pip
}

with_system_pip() {
    python=$(find_python) && "$python" -m pip --version >/dev/null 2>&1 || return 1
    say "installing $LOCK with the system's pip"
    make_venv --without-pip && pip_install "$python" -m pip --python "$VENV/bin/python"
}

with_debian_package() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" = 0 ]; then as_root=; else sudo -n true 2>/dev/null && as_root="sudo -n" || return 1; fi
    say "installing Debian's python3-venv"
    $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null &&
        with_venv
}

find_python() {
    for candidate in $PYTHONS; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# A .venv is kept where its Python still runs and its scripts belong to this folder.
is_usable() {
    "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
        grep -qsF "$(pwd)/$VENV" "$VENV/bin/activate"
}

make_venv() {
    is_usable || "$python" -m venv --clear "$@" "$VENV"
}

has_pip() {
    "$VENV/bin/python" -m pip --version >/dev/null 2>&1
}

# Dependencies by their hashes; then the project itself, built with the locked hatchling.
pip_install() {
    "$@" install --quiet --disable-pip-version-check --require-hashes --requirement "$LOCK" &&
        "$@" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
}

say() {
    echo "setup: $*" >&2
}

main "$@"
