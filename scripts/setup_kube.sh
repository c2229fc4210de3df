#!/bin/sh
# Builds the programs of a real Kubernetes from the Go module proxy: etcd, API server, controller manager, scheduler,
# kubelet and kubectl; and two images without a registry. Called by `make setup-kube`:
#     setup_kube.sh            build what is missing; about 6 minutes on two cores the first time
#     setup_kube.sh check      exit 0 if a cluster can start; otherwise print what is missing
#     setup_kube.sh folder     print the folder of the programs
# They stay in the user's cache, outside of any clone. Where it may not build them, it says so, and `make kube` is skipped.
set -eu
cd "$(dirname "$0")/.."

VERSION=1.36.4
KWOK=v0.8.0  # plays nodes without a machine
CACHE=${SHUNTER_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/shunter/kubernetes-$VERSION}
KUBERNETES="kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl"
PACKAGES="containerd runc containernetworking-plugins iptables busybox-static openssl gcc libc6-dev iproute2 util-linux"

main() {
    case "${1:-build}" in
        build) build ;;
        check) check ;;
        folder) echo "$CACHE" ;;
        *) say "usage: scripts/setup_kube.sh [build|check|folder]" && exit 2 ;;
    esac
}

check() {
    if [ "$(id -u)" != 0 ]; then
        echo "they need root, for network namespaces and containers" && return 1
    fi
    for program in etcd $KUBERNETES; do
        [ -x "$CACHE/bin/$program" ] || { echo "$CACHE/bin/$program is not there: run make setup-kube" && return 1; }
    done
    for image in pause busybox; do
        [ -f "$CACHE/images/$image.tar" ] || { echo "$CACHE/images/$image.tar is not there: run make setup-kube" && return 1; }
    done
    missing=$(missing_tools)
    [ -z "$missing" ] || { echo "programs are missing:$missing" && return 1; }
}

build() {
    if [ "$(id -u)" != 0 ]; then
        say "tests of Kubernetes are skipped: they need root" && return
    fi
    if ! command -v go >/dev/null; then
        say "tests of Kubernetes are skipped: building it needs Go 1.26" && return
    fi
    [ -z "$(missing_tools)" ] || install_tools || return 0
    mkdir -p "$CACHE/bin" "$CACHE/images"
    build_programs || { say "tests of Kubernetes are skipped: could not build it" && return; }
    build_images
    build_kwok || say "tests with simulated nodes are skipped: could not build kwok"
}

# Its stages, which say how pods of simulated nodes go on, come from its module.
build_kwok() {
    [ ! -f "$CACHE/kwok.yaml" ] || [ ! -x "$CACHE/bin/kwok" ] || return 0
    say "building kwok $KWOK"
    GOBIN="$CACHE/bin" go install -ldflags "-s -w" sigs.k8s.io/kwok/cmd/kwok@$KWOK || return 1
    stages=$(go mod download -json sigs.k8s.io/kwok@$KWOK | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')/kustomize/stage
    for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready \
        pod/fast/pod-complete pod/fast/pod-delete; do
        cat "$stages/$stage.yaml" && echo ---
    done >"$CACHE/kwok.yaml.new" && mv "$CACHE/kwok.yaml.new" "$CACHE/kwok.yaml"
}

missing_tools() {
    for tool in containerd runc iptables busybox openssl gcc ip nsenter; do
        command -v "$tool" >/dev/null || printf ' %s' "$tool"
    done
    [ -x /usr/lib/cni/bridge ] || printf ' %s' /usr/lib/cni/bridge
}

install_tools() {
    say "installing$(missing_tools)"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $PACKAGES >/dev/null; } ||
        { say "tests of Kubernetes are skipped: could not install $PACKAGES" && return 1; }
}

build_programs() {
    wanted=
    [ -x "$CACHE/bin/etcd" ] || wanted="go.etcd.io/etcd/server/v3"
    for program in $KUBERNETES; do
        [ -x "$CACHE/bin/$program" ] || wanted="$wanted k8s.io/kubernetes/cmd/$program"
    done
    [ -n "$wanted" ] || return 0
    say "building Kubernetes $VERSION in $CACHE, which takes some minutes"
    mkdir -p "$CACHE/src" && cd "$CACHE/src" || return 1
    [ -f go.sum ] || write_module || return 1
    set -- -s -w
    for field in gitVersion=v$VERSION gitMajor=1 gitMinor=36; do
        set -- "$@" -X "k8s.io/component-base/version.$field"
    done
    # shellcheck disable=SC2086
    CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags "$*" -o "$CACHE/bin/" $wanted || return 1
    for name in v3 server; do
        [ ! -x "$CACHE/bin/$name" ] || mv "$CACHE/bin/$name" "$CACHE/bin/etcd"
    done
    cd - >/dev/null
}

# k8s.io/kubernetes requires its staging modules at v0.0.0, and each must be replaced by the published one. etcd comes at
# the version that k8s.io/kubernetes itself requires.
write_module() {
    go mod download -json "k8s.io/kubernetes@v$VERSION" >download.json || return 1
    published=$(sed -n 's/^.*"GoMod": "\(.*\)".*$/\1/p' download.json)
    {
        printf 'module kubetools\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$VERSION"
        sed -n 's/^\t\(k8s\.io\/[^ ]*\) v0\.0\.0\( .*\)\{0,1\}$/\1/p' "$published" | sort -u |
            sed "s|.*|\t& => & v0.${VERSION#1.}|"
        printf ')\n'
    } >go.mod
    {
        printf '//go:build tools\n\npackage tools\n\nimport (\n\t_ "go.etcd.io/etcd/server/v3"\n'
        for program in $KUBERNETES; do printf '\t_ "k8s.io/kubernetes/cmd/%s"\n' "$program"; done
        printf ')\n'
    } >tools.go
    go mod tidy
}

build_images() {
    if [ ! -f "$CACHE/images/pause.tar" ]; then
        gcc -Os -static -s -o "$CACHE/images/pause" scripts/kube_pause.c
        python3 scripts/kube_image.py --entrypoint /bin/pause "$CACHE/images/pause.tar" localhost/pause:1 "bin/pause=$CACHE/images/pause"
    fi
    if [ ! -f "$CACHE/images/busybox.tar" ]; then
        # shellcheck disable=SC2046
        python3 scripts/kube_image.py "$CACHE/images/busybox.tar" localhost/busybox:1 "bin/busybox=$(command -v busybox)" \
            $(busybox --list | grep -v '^busybox$' | sed 's|.*|bin/&->busybox|')
    fi
}

say() {
    echo "setup: $*" >&2
}

main "$@"
