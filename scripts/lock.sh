#!/bin/sh
# Resolves the dependencies and writes both lock files. Called by `make lock`; needs uv.
#
# uv.lock names the registry that answered, so it stays out of the repository; the exported files hold versions and
# hashes only, and install from whatever registry the reader's client is set up for.
set -eu
cd "$(dirname "$0")/.."

export_lock() {
    uv export --quiet --frozen --no-emit-project --no-header --format requirements-txt "$@"
}

uv lock
export_lock --group dev --output-file requirements.lock
export_lock --only-group bench --output-file requirements-bench.lock
