#!/usr/bin/env bash
# A real Kubernetes of one node, in a network namespace of its own, from the programs that scripts/setup_kube.sh builds.
# Called by `make kube`:
#     kube_cluster.sh FOLDER up         start it; the state is below FOLDER
#     kube_cluster.sh FOLDER in CMD...  run CMD inside its namespace, with KUBECONFIG and PATH set
#     kube_cluster.sh FOLDER down       stop what FOLDER/pids names, and remove the namespace and the state
#     kube_cluster.sh FOLDER run CMD... all three: the exit code is that of CMD
# It needs root. One cluster at a time on a machine: the kubelet changes settings and folders that have fixed places.
set -euo pipefail
SELF=$(realpath "$0")
CACHE=$(sh "$(dirname "$SELF")/setup_kube.sh" folder)
FOLDER=$(realpath -m "${1:?usage: kube_cluster.sh FOLDER up|in|down|run [CMD...]}")
ACTION=${2:?usage: kube_cluster.sh FOLDER up|in|down|run [CMD...]}
shift 2

NAMESPACE=shunter-kube
NODE=kube-1
NODE_IP=10.254.36.1        # on the namespace's loopback: the kubelet refuses 127.0.0.0/8
POD_NET=10.222.0.0/24
SERVICE_NET=10.96.0.0/16
BRIDGE=kube0
CGROUP=/$NAMESPACE         # parent of all pods, so that `down` removes only ours
API=https://127.0.0.1:26402
EXTENDER=https://127.0.0.1:26406/extender  # of an operator that a test starts
LOCK=/run/lock/shunter-kube.lock
LOCK_MAX_S=900
KUBECTL="$CACHE/bin/kubectl --kubeconfig $FOLDER/pki/admin.conf"
SYSCTLS="vm.overcommit_memory kernel.panic kernel.panic_on_oops"  # the kubelet sets them for the whole machine
# Made by the kubelet, the CNI plugins and containerd, whatever one sets. `down` removes those that `up` did not find.
FIXED="/var/lib/kubelet /var/log/containers /var/lib/cni /run/containerd /run/containerd/s /run/containerd/runc /run/containerd/runc/k8s.io"

main() {
    case $ACTION in
        up) start ;;
        in) enter && exec nsenter --net="/run/netns/$NAMESPACE" -- "$@" ;;
        down) stop ;;
        run)
            start || { stop && exit 1; }
            trap stop EXIT
            enter && inside "$@"
            ;;
        _start) start_inside ;;
        _stop) stop_inside ;;
        *) echo "kube_cluster: $ACTION is neither up, in, down nor run" >&2 && exit 2 ;;
    esac
}

start() {
    mkdir -p "$FOLDER"/{log,pids,pki,cni,kubelet} /run/lock
    exec 8>"$LOCK"
    if ! flock -n 8; then
        echo "kube_cluster: waiting for another cluster on this machine, which has locked $LOCK" >&2
        flock -w "$LOCK_MAX_S" 8 || { echo "kube_cluster: it still runs after $LOCK_MAX_S s" >&2 && return 1; }
    fi
    make_namespace
    inside "$SELF" "$FOLDER" _start
}

stop() {
    if [ -e "/run/netns/$NAMESPACE" ]; then inside "$SELF" "$FOLDER" _stop; else stop_inside; fi
}

enter() {
    export KUBECONFIG="$FOLDER/pki/admin.conf" PATH="$CACHE/bin:$PATH" SHUNTER_KUBE_CLUSTER="$FOLDER"
}

# Not `ip netns exec`, which mounts a /sys without control groups.
inside() {
    nsenter --net="/run/netns/$NAMESPACE" -- "$@" 8>&-
}

make_namespace() {
    [ -e "/run/netns/$NAMESPACE" ] || ip netns add "$NAMESPACE"
    inside ip link set lo up
    inside ip addr show dev lo | grep -q "inet $NODE_IP/" || inside ip addr add "$NODE_IP/32" dev lo
    inside sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

# ---- inside the namespace ----

start_inside() {
    cd "$FOLDER"
    make_keys
    write_settings
    if [ ! -f sysctl.before ]; then
        # shellcheck disable=SC2086
        sysctl $SYSCTLS >sysctl.before
        for folder in $FIXED; do [ -e "$folder" ] || echo "$folder"; done >made
    fi
    make_cgroups
    local bin=$CACHE/bin
    launch etcd "$bin/etcd" --unsafe-no-fsync --data-dir "$FOLDER/etcd" --listen-client-urls http://127.0.0.1:26400 \
        --advertise-client-urls http://127.0.0.1:26400 --listen-peer-urls http://127.0.0.1:26401 \
        --initial-advertise-peer-urls http://127.0.0.1:26401 --initial-cluster default=http://127.0.0.1:26401
    launch containerd containerd --config containerd.toml
    launch kube-apiserver "$bin/kube-apiserver" --etcd-servers http://127.0.0.1:26400 --bind-address 127.0.0.1 \
        --advertise-address "$NODE_IP" --secure-port 26402 --cert-dir "$FOLDER/pki" --tls-cert-file pki/apiserver.crt \
        --tls-private-key-file pki/apiserver.key --client-ca-file pki/ca.crt --authorization-mode Node,RBAC \
        --service-cluster-ip-range $SERVICE_NET --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file pki/sa.pub --service-account-signing-key-file pki/sa.key \
        --kubelet-client-certificate pki/to-kubelet.crt --kubelet-client-key pki/to-kubelet.key \
        --kubelet-certificate-authority pki/ca.crt --kubelet-preferred-address-types InternalIP \
        --endpoint-reconciler-type none
    wait_for 60 $KUBECTL get --raw /readyz
    launch kube-controller-manager "$bin/kube-controller-manager" --kubeconfig pki/kcm.conf --leader-elect=false \
        --bind-address 127.0.0.1 --secure-port 26403 --cert-dir "$FOLDER/pki" --service-account-private-key-file pki/sa.key \
        --root-ca-file pki/ca.crt --use-service-account-credentials --kube-api-qps 500 --kube-api-burst 1000
    launch kube-scheduler "$bin/kube-scheduler" --config scheduler.yaml --bind-address 127.0.0.1 --secure-port 26404 --cert-dir "$FOLDER/pki"
    wait_for 30 ctr -a "$FOLDER/containerd.sock" version
    for image in "$CACHE"/images/*.tar; do
        ctr -a "$FOLDER/containerd.sock" -n k8s.io images import "$image" >>log/import.log
    done
    launch kubelet "$bin/kubelet" --config kubelet.yaml --kubeconfig pki/kubelet.conf --root-dir "$FOLDER/kubelet" \
        --cert-dir "$FOLDER/kubelet/pki" --hostname-override $NODE --node-ip $NODE_IP
    # Nodes without a machine, for tests that add them: kwok moves the pods there.
    if [ -x "$bin/kwok" ] && [ -f "$CACHE/kwok.yaml" ]; then
        launch kwok "$bin/kwok" --config "$CACHE/kwok.yaml" --kubeconfig pki/admin.conf \
            --manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake --node-lease-duration-seconds 40
    fi
    wait_for 60 $KUBECTL wait --for=condition=Ready node/$NODE --timeout=1s
    wait_for 30 $KUBECTL -n default get serviceaccount default
}

launch() {
    local name=$1
    shift
    setsid nohup "$@" >"log/$name.log" 2>&1 </dev/null &
    echo $! >"pids/$name"
}

wait_for() {
    local seconds=$1
    shift
    for ((i = 0; i < seconds * 10; i++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    echo "kube_cluster: not ready after $seconds s: $*; see $FOLDER/log" >&2
    return 1
}

make_cgroups() {
    for controller in /sys/fs/cgroup/*/; do mkdir -p "$controller$CGROUP" 2>/dev/null || true; done
    for file in cpuset.cpus cpuset.mems; do
        [ ! -e /sys/fs/cgroup/cpuset/$file ] || cat /sys/fs/cgroup/cpuset/$file >/sys/fs/cgroup/cpuset$CGROUP/$file
    done
}

make_keys() {
    [ ! -f pki/admin.conf ] || return 0
    cd pki
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=kube-ca \
        -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature 2>/dev/null
    openssl genrsa -out sa.key 2048 2>/dev/null
    openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
    certify apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$NODE_IP,DNS:localhost,DNS:kubernetes.default.svc"
    certify to-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client
    certify extender /CN=extender IP:127.0.0.1
    certify admin /O=system:masters/CN=admin
    certify kcm /CN=system:kube-controller-manager
    certify scheduler /CN=system:kube-scheduler
    certify kubelet "/O=system:nodes/CN=system:node:$NODE" "IP:$NODE_IP,DNS:$NODE"
    for user in admin kcm scheduler kubelet; do
        cat >$user.conf <<YAML
apiVersion: v1
kind: Config
clusters: [{name: kube, cluster: {server: "$API", certificate-authority: $FOLDER/pki/ca.crt}}]
users: [{name: $user, user: {client-certificate: $FOLDER/pki/$user.crt, client-key: $FOLDER/pki/$user.key}}]
contexts: [{name: kube, context: {cluster: kube, user: $user}}]
current-context: kube
YAML
    done
    cd ..
}

certify() {
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out "$1.crt" 2>/dev/null \
        -extfile <(echo "extendedKeyUsage=serverAuth,clientAuth"; [ -z "${3:-}" ] || echo "subjectAltName=$3")
    rm "$1.csr"
}

write_settings() {
    cat >containerd.toml <<TOML
version = 2
root = "$FOLDER/containerd/root"
state = "$FOLDER/containerd/state"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "$FOLDER/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$FOLDER/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$FOLDER/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
TOML
    cat >cni/10-kube.conflist <<JSON
{"cniVersion": "0.4.0", "name": "kube", "plugins": [
 {"type": "bridge", "bridge": "$BRIDGE", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "$FOLDER/cni-ipam", "ranges": [[{"subnet": "$POD_NET"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
    # As docs/operations/kubernetes.md has it: a second profile, and the extender for pods that request a slot.
    cat >scheduler.yaml <<YAML
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: $FOLDER/pki/scheduler.conf, qps: 500, burst: 1000}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
profiles: [{schedulerName: default-scheduler}, {schedulerName: shunter-extender}]
extenders:
  - urlPrefix: $EXTENDER
    filterVerb: filter
    preemptVerb: preemption
    weight: 1
    nodeCacheCapable: true
    httpTimeout: 5s
    enableHTTPS: true
    tlsConfig: {caFile: $FOLDER/pki/ca.crt, certFile: $FOLDER/pki/scheduler.crt, keyFile: $FOLDER/pki/scheduler.key}
    managedResources: [{name: shunter.dev/slot, ignoredByScheduler: true}]
YAML
    cat >kubelet.yaml <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
port: 26405
healthzPort: 0
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $FOLDER/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $FOLDER/pki/kubelet.crt
tlsPrivateKeyFile: $FOLDER/pki/kubelet.key
containerRuntimeEndpoint: unix://$FOLDER/containerd.sock
podLogsDir: $FOLDER/podlogs
volumePluginDir: $FOLDER/kubelet/volumeplugins
cgroupDriver: cgroupfs
cgroupRoot: $CGROUP
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
maxOpenFiles: 20000
clusterDNS: []
resolvConf: ""
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
enforceNodeAllocatable: [pods]
YAML
}

# ---- the end ----

stop_inside() {
    cd "$FOLDER"
    end kube-controller-manager  # first, or it would make new pods
    if [ -f pids/kubelet ] && [ -f pids/kube-apiserver ]; then
        timeout 40 $KUBECTL delete pods -A --all --grace-period=1 --timeout=30s >/dev/null 2>&1 || true
    fi
    end kubelet
    if [ -S containerd.sock ]; then
        local ctr="timeout 10 ctr -a $FOLDER/containerd.sock -n k8s.io"
        for task in $($ctr tasks ls -q 2>/dev/null); do $ctr tasks rm -f "$task" >/dev/null 2>&1 || true; done
    fi
    end kwok
    for name in kube-scheduler kube-apiserver containerd etcd; do end $name; done
    awk -v folder="$FOLDER/" 'index($2, folder) == 1 {print $2}' /proc/mounts | sort -r | xargs -r umount -l
    for group in /sys/fs/cgroup/*"$CGROUP"; do
        [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
    done
    [ ! -d /var/log/containers ] || find /var/log/containers -lname "$FOLDER/*" -delete
    if [ -f made ]; then
        tac made | while read -r folder; do
            case $folder in
                /run/*) rmdir "$folder" 2>/dev/null || true ;;
                *) rm -rf --one-file-system "$folder" ;;
            esac
        done
        rm made
    fi
    [ ! -f sysctl.before ] || { sysctl -q -p sysctl.before && rm sysctl.before; }
    [ ! -e "/run/netns/$NAMESPACE" ] || ip netns del "$NAMESPACE"
    rm -rf --one-file-system etcd containerd cni-ipam kubelet podlogs pki containerd.sock containerd.sock.ttrpc
}

# Ends a program that `launch` started: only if the process is still that program.
end() {
    [ -f "pids/$1" ] || return 0
    local pid
    pid=$(cat "pids/$1")
    if is_ours "$pid" "$1"; then
        kill "$pid"
        for ((i = 0; i < 200; i++)); do is_ours "$pid" "$1" || break; sleep 0.05; done
        ! is_ours "$pid" "$1" || kill -9 "$pid"
    fi
    rm -f "pids/$1"
}

is_ours() {
    [ -r "/proc/$1/cmdline" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null && tr '\0' ' ' <"/proc/$1/cmdline" | grep -q "$2"
}

main "$@"
