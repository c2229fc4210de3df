#!/bin/sh
# Runs `shunter` in a container. Tokens that are given as secrets go into the home first, where a manager reads them.
set -eu
umask 077
for name in token worker-token; do
    if [ -r "/run/secrets/$name" ]; then
        cat "/run/secrets/$name" >"$SHUNTER_HOME/$name"
    fi
done
exec shunter "$@"
