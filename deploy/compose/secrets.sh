#!/bin/sh
# Creates the secrets of the cluster in deploy/compose/secrets, once. Only you can open the directory. The files in it can be
# read by everybody, because a container's user is another one than you.
set -eu
cd "$(dirname "$0")"

main() {
    umask 022
    mkdir -p secrets
    chmod 700 secrets
    for name in token worker-token postgres-password redis-password; do
        [ -s "secrets/$name" ] || random >"secrets/$name"
    done
    [ -s secrets/store-url ] ||
        printf 'postgresql://shunter:%s@postgres:5432/shunter' "$(cat secrets/postgres-password)" >secrets/store-url
    chmod 444 secrets/*
}

random() {
    head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'
}

main
