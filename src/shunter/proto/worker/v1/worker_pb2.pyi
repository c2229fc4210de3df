from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchLeaderRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Leader(_message.Message):
    __slots__ = ("address", "term", "here", "relayed")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    HERE_FIELD_NUMBER: _ClassVar[int]
    RELAYED_FIELD_NUMBER: _ClassVar[int]
    address: str
    term: int
    here: bool
    relayed: bool
    def __init__(self, address: _Optional[str] = ..., term: _Optional[int] = ..., here: _Optional[bool] = ..., relayed: _Optional[bool] = ...) -> None: ...

class ManagerMessage(_message.Message):
    __slots__ = ("welcome", "refused", "orders", "stop", "recall", "ack", "set_heartbeat", "read_log", "read_stats", "shutdown", "pong", "new_certificate")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    SET_HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    READ_LOG_FIELD_NUMBER: _ClassVar[int]
    READ_STATS_FIELD_NUMBER: _ClassVar[int]
    SHUTDOWN_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    NEW_CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    refused: Refused
    orders: Orders
    stop: Stop
    recall: Recall
    ack: Ack
    set_heartbeat: SetHeartbeat
    read_log: ReadLog
    read_stats: ReadStats
    shutdown: Shutdown
    pong: Pong
    new_certificate: NewCertificate
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., refused: _Optional[_Union[Refused, _Mapping]] = ..., orders: _Optional[_Union[Orders, _Mapping]] = ..., stop: _Optional[_Union[Stop, _Mapping]] = ..., recall: _Optional[_Union[Recall, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., set_heartbeat: _Optional[_Union[SetHeartbeat, _Mapping]] = ..., read_log: _Optional[_Union[ReadLog, _Mapping]] = ..., read_stats: _Optional[_Union[ReadStats, _Mapping]] = ..., shutdown: _Optional[_Union[Shutdown, _Mapping]] = ..., pong: _Optional[_Union[Pong, _Mapping]] = ..., new_certificate: _Optional[_Union[NewCertificate, _Mapping]] = ...) -> None: ...

class WorkerMessage(_message.Message):
    __slots__ = ("hello", "inventory", "report", "heartbeat", "log_data", "stats_data", "goodbye", "ping", "certificate_request")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    INVENTORY_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    LOG_DATA_FIELD_NUMBER: _ClassVar[int]
    STATS_DATA_FIELD_NUMBER: _ClassVar[int]
    GOODBYE_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    inventory: Inventory
    report: Report
    heartbeat: Heartbeat
    log_data: LogData
    stats_data: StatsData
    goodbye: Goodbye
    ping: Ping
    certificate_request: CertificateRequest
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., inventory: _Optional[_Union[Inventory, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., log_data: _Optional[_Union[LogData, _Mapping]] = ..., stats_data: _Optional[_Union[StatsData, _Mapping]] = ..., goodbye: _Optional[_Union[Goodbye, _Mapping]] = ..., ping: _Optional[_Union[Ping, _Mapping]] = ..., certificate_request: _Optional[_Union[CertificateRequest, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("epoch", "node", "heartbeat_s", "term")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_S_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    node: int
    heartbeat_s: float
    term: int
    def __init__(self, epoch: _Optional[int] = ..., node: _Optional[int] = ..., heartbeat_s: _Optional[float] = ..., term: _Optional[int] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("code", "reason", "retry", "leader")
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    code: str
    reason: str
    retry: bool
    leader: str
    def __init__(self, code: _Optional[str] = ..., reason: _Optional[str] = ..., retry: _Optional[bool] = ..., leader: _Optional[str] = ...) -> None: ...

class Order(_message.Message):
    __slots__ = ("job", "group", "first", "last", "attempt", "spec", "reservation", "width", "namespace", "job_name", "group_name", "count", "shown", "entries", "trace")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    JOB_NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    first: int
    last: int
    attempt: int
    spec: int
    reservation: int
    width: int
    namespace: str
    job_name: str
    group_name: str
    count: int
    shown: _containers.RepeatedScalarFieldContainer[int]
    entries: _containers.RepeatedScalarFieldContainer[str]
    trace: str
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., first: _Optional[int] = ..., last: _Optional[int] = ..., attempt: _Optional[int] = ..., spec: _Optional[int] = ..., reservation: _Optional[int] = ..., width: _Optional[int] = ..., namespace: _Optional[str] = ..., job_name: _Optional[str] = ..., group_name: _Optional[str] = ..., count: _Optional[int] = ..., shown: _Optional[_Iterable[int]] = ..., entries: _Optional[_Iterable[str]] = ..., trace: _Optional[str] = ...) -> None: ...

class Mount(_message.Message):
    __slots__ = ("source", "target", "read_only")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    source: str
    target: str
    read_only: bool
    def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., read_only: _Optional[bool] = ...) -> None: ...

class Port(_message.Message):
    __slots__ = ("name", "port", "host_port")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    HOST_PORT_FIELD_NUMBER: _ClassVar[int]
    name: str
    port: int
    host_port: int
    def __init__(self, name: _Optional[str] = ..., port: _Optional[int] = ..., host_port: _Optional[int] = ...) -> None: ...

class HealthCheck(_message.Message):
    __slots__ = ("kind", "path", "port", "command", "interval_s", "timeout_s", "failures", "start_grace_s", "options")
    class OptionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    START_GRACE_S_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    path: str
    port: str
    command: _containers.RepeatedScalarFieldContainer[str]
    interval_s: float
    timeout_s: float
    failures: int
    start_grace_s: float
    options: _containers.ScalarMap[str, str]
    def __init__(self, kind: _Optional[str] = ..., path: _Optional[str] = ..., port: _Optional[str] = ..., command: _Optional[_Iterable[str]] = ..., interval_s: _Optional[float] = ..., timeout_s: _Optional[float] = ..., failures: _Optional[int] = ..., start_grace_s: _Optional[float] = ..., options: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Container(_message.Message):
    __slots__ = ("image", "args", "network", "cap_add", "pids_max", "pull", "read_only")
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    CAP_ADD_FIELD_NUMBER: _ClassVar[int]
    PIDS_MAX_FIELD_NUMBER: _ClassVar[int]
    PULL_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    image: str
    args: _containers.RepeatedScalarFieldContainer[str]
    network: str
    cap_add: _containers.RepeatedScalarFieldContainer[str]
    pids_max: int
    pull: str
    read_only: bool
    def __init__(self, image: _Optional[str] = ..., args: _Optional[_Iterable[str]] = ..., network: _Optional[str] = ..., cap_add: _Optional[_Iterable[str]] = ..., pids_max: _Optional[int] = ..., pull: _Optional[str] = ..., read_only: _Optional[bool] = ...) -> None: ...

class TaskSpec(_message.Message):
    __slots__ = ("command", "env", "dir", "cpu_milli", "memory_bytes", "disk_bytes", "run_timeout_s", "stop_grace_s", "log_max_bytes", "runtime", "container", "mounts", "ports", "health", "user", "stdout", "stderr", "devices", "payload", "stop_after_s", "payload_is_stdin", "secrets")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class DevicesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUN_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    STOP_GRACE_S_FIELD_NUMBER: _ClassVar[int]
    LOG_MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    MOUNTS_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    STOP_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_IS_STDIN_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    command: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.ScalarMap[str, str]
    dir: str
    cpu_milli: int
    memory_bytes: int
    disk_bytes: int
    run_timeout_s: float
    stop_grace_s: float
    log_max_bytes: int
    runtime: str
    container: Container
    mounts: _containers.RepeatedCompositeFieldContainer[Mount]
    ports: _containers.RepeatedCompositeFieldContainer[Port]
    health: _containers.RepeatedCompositeFieldContainer[HealthCheck]
    user: str
    stdout: str
    stderr: str
    devices: _containers.ScalarMap[str, int]
    payload: bytes
    stop_after_s: float
    payload_is_stdin: bool
    secrets: _containers.RepeatedCompositeFieldContainer[SecretRef]
    def __init__(self, command: _Optional[_Iterable[str]] = ..., env: _Optional[_Mapping[str, str]] = ..., dir: _Optional[str] = ..., cpu_milli: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., run_timeout_s: _Optional[float] = ..., stop_grace_s: _Optional[float] = ..., log_max_bytes: _Optional[int] = ..., runtime: _Optional[str] = ..., container: _Optional[_Union[Container, _Mapping]] = ..., mounts: _Optional[_Iterable[_Union[Mount, _Mapping]]] = ..., ports: _Optional[_Iterable[_Union[Port, _Mapping]]] = ..., health: _Optional[_Iterable[_Union[HealthCheck, _Mapping]]] = ..., user: _Optional[str] = ..., stdout: _Optional[str] = ..., stderr: _Optional[str] = ..., devices: _Optional[_Mapping[str, int]] = ..., payload: _Optional[bytes] = ..., stop_after_s: _Optional[float] = ..., payload_is_stdin: _Optional[bool] = ..., secrets: _Optional[_Iterable[_Union[SecretRef, _Mapping]]] = ...) -> None: ...

class SecretRef(_message.Message):
    __slots__ = ("name", "env", "file", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    env: str
    file: str
    value: bytes
    def __init__(self, name: _Optional[str] = ..., env: _Optional[str] = ..., file: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class Orders(_message.Message):
    __slots__ = ("epoch", "orders", "specs")
    class SpecsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: TaskSpec
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[TaskSpec, _Mapping]] = ...) -> None: ...
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    SPECS_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    orders: _containers.RepeatedCompositeFieldContainer[Order]
    specs: _containers.MessageMap[int, TaskSpec]
    def __init__(self, epoch: _Optional[int] = ..., orders: _Optional[_Iterable[_Union[Order, _Mapping]]] = ..., specs: _Optional[_Mapping[int, TaskSpec]] = ...) -> None: ...

class StopRange(_message.Message):
    __slots__ = ("job", "group", "first", "last", "grace_s", "attempt", "signal")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    GRACE_S_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    first: int
    last: int
    grace_s: float
    attempt: int
    signal: int
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., first: _Optional[int] = ..., last: _Optional[int] = ..., grace_s: _Optional[float] = ..., attempt: _Optional[int] = ..., signal: _Optional[int] = ...) -> None: ...

class Stop(_message.Message):
    __slots__ = ("epoch", "ranges")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    ranges: _containers.RepeatedCompositeFieldContainer[StopRange]
    def __init__(self, epoch: _Optional[int] = ..., ranges: _Optional[_Iterable[_Union[StopRange, _Mapping]]] = ...) -> None: ...

class Recall(_message.Message):
    __slots__ = ("epoch", "reservations")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    reservations: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, epoch: _Optional[int] = ..., reservations: _Optional[_Iterable[int]] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("seq",)
    SEQ_FIELD_NUMBER: _ClassVar[int]
    seq: int
    def __init__(self, seq: _Optional[int] = ...) -> None: ...

class SetHeartbeat(_message.Message):
    __slots__ = ("heartbeat_s",)
    HEARTBEAT_S_FIELD_NUMBER: _ClassVar[int]
    heartbeat_s: float
    def __init__(self, heartbeat_s: _Optional[float] = ...) -> None: ...

class ReadLog(_message.Message):
    __slots__ = ("request", "segment", "record", "stream", "offset", "size_max", "job", "group", "index", "attempt")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_MAX_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    request: int
    segment: int
    record: int
    stream: str
    offset: int
    size_max: int
    job: int
    group: int
    index: int
    attempt: int
    def __init__(self, request: _Optional[int] = ..., segment: _Optional[int] = ..., record: _Optional[int] = ..., stream: _Optional[str] = ..., offset: _Optional[int] = ..., size_max: _Optional[int] = ..., job: _Optional[int] = ..., group: _Optional[int] = ..., index: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class ReadStats(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: int
    def __init__(self, request: _Optional[int] = ...) -> None: ...

class Shutdown(_message.Message):
    __slots__ = ("stop_tasks",)
    STOP_TASKS_FIELD_NUMBER: _ClassVar[int]
    stop_tasks: bool
    def __init__(self, stop_tasks: _Optional[bool] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol", "name", "boot", "capacity", "labels", "datacenter", "attributes", "address", "worker_id", "machine", "machine_boot")
    class CapacityEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BOOT_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DATACENTER_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    MACHINE_BOOT_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    name: str
    boot: str
    capacity: _containers.ScalarMap[str, int]
    labels: _containers.ScalarMap[str, str]
    datacenter: str
    attributes: _containers.ScalarMap[str, str]
    address: str
    worker_id: str
    machine: str
    machine_boot: str
    def __init__(self, protocol: _Optional[int] = ..., name: _Optional[str] = ..., boot: _Optional[str] = ..., capacity: _Optional[_Mapping[str, int]] = ..., labels: _Optional[_Mapping[str, str]] = ..., datacenter: _Optional[str] = ..., attributes: _Optional[_Mapping[str, str]] = ..., address: _Optional[str] = ..., worker_id: _Optional[str] = ..., machine: _Optional[str] = ..., machine_boot: _Optional[str] = ...) -> None: ...

class Ended(_message.Message):
    __slots__ = ("job", "group", "attempt", "first", "exits", "started_ms", "ended_ms", "segment", "record", "how", "detail", "usage")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    EXITS_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    HOW_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    attempt: int
    first: int
    exits: _containers.RepeatedScalarFieldContainer[int]
    started_ms: _containers.RepeatedScalarFieldContainer[int]
    ended_ms: _containers.RepeatedScalarFieldContainer[int]
    segment: int
    record: int
    how: str
    detail: str
    usage: AttemptsUsage
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., first: _Optional[int] = ..., exits: _Optional[_Iterable[int]] = ..., started_ms: _Optional[_Iterable[int]] = ..., ended_ms: _Optional[_Iterable[int]] = ..., segment: _Optional[int] = ..., record: _Optional[int] = ..., how: _Optional[str] = ..., detail: _Optional[str] = ..., usage: _Optional[_Union[AttemptsUsage, _Mapping]] = ...) -> None: ...

class AttemptsUsage(_message.Message):
    __slots__ = ("cpu_ms", "cores_max_milli", "read_bytes", "written_bytes", "memory_max_bytes", "memory_classes")
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    CORES_MAX_MILLI_FIELD_NUMBER: _ClassVar[int]
    READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_CLASSES_FIELD_NUMBER: _ClassVar[int]
    cpu_ms: int
    cores_max_milli: int
    read_bytes: int
    written_bytes: int
    memory_max_bytes: int
    memory_classes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cpu_ms: _Optional[int] = ..., cores_max_milli: _Optional[int] = ..., read_bytes: _Optional[int] = ..., written_bytes: _Optional[int] = ..., memory_max_bytes: _Optional[int] = ..., memory_classes: _Optional[_Iterable[int]] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("job", "group", "attempt", "index", "started_ms", "segment", "record", "ports")
    class PortsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    attempt: int
    index: int
    started_ms: int
    segment: int
    record: int
    ports: _containers.ScalarMap[str, int]
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., index: _Optional[int] = ..., started_ms: _Optional[int] = ..., segment: _Optional[int] = ..., record: _Optional[int] = ..., ports: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Health(_message.Message):
    __slots__ = ("job", "group", "attempt", "index", "is_healthy", "at_ms", "detail")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    IS_HEALTHY_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    attempt: int
    index: int
    is_healthy: bool
    at_ms: int
    detail: str
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., index: _Optional[int] = ..., is_healthy: _Optional[bool] = ..., at_ms: _Optional[int] = ..., detail: _Optional[str] = ...) -> None: ...

class Returned(_message.Message):
    __slots__ = ("job", "group", "attempt", "first", "last")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    attempt: int
    first: int
    last: int
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class Lost(_message.Message):
    __slots__ = ("job", "group", "attempt", "first", "last", "reason", "with_keeper")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WITH_KEEPER_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    attempt: int
    first: int
    last: int
    reason: str
    with_keeper: str
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., first: _Optional[int] = ..., last: _Optional[int] = ..., reason: _Optional[str] = ..., with_keeper: _Optional[str] = ...) -> None: ...

class Held(_message.Message):
    __slots__ = ("job", "group", "attempt", "first", "last", "running", "started_ms", "segment", "record", "ports")
    class PortsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    attempt: int
    first: int
    last: int
    running: bool
    started_ms: int
    segment: int
    record: int
    ports: _containers.ScalarMap[str, int]
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., first: _Optional[int] = ..., last: _Optional[int] = ..., running: _Optional[bool] = ..., started_ms: _Optional[int] = ..., segment: _Optional[int] = ..., record: _Optional[int] = ..., ports: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Inventory(_message.Message):
    __slots__ = ("seq", "held", "ended", "lost", "health")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    seq: int
    held: _containers.RepeatedCompositeFieldContainer[Held]
    ended: _containers.RepeatedCompositeFieldContainer[Ended]
    lost: _containers.RepeatedCompositeFieldContainer[Lost]
    health: _containers.RepeatedCompositeFieldContainer[Health]
    def __init__(self, seq: _Optional[int] = ..., held: _Optional[_Iterable[_Union[Held, _Mapping]]] = ..., ended: _Optional[_Iterable[_Union[Ended, _Mapping]]] = ..., lost: _Optional[_Iterable[_Union[Lost, _Mapping]]] = ..., health: _Optional[_Iterable[_Union[Health, _Mapping]]] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("seq", "ended", "started", "returned", "lost", "health")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    RETURNED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    seq: int
    ended: _containers.RepeatedCompositeFieldContainer[Ended]
    started: _containers.RepeatedCompositeFieldContainer[Started]
    returned: _containers.RepeatedCompositeFieldContainer[Returned]
    lost: _containers.RepeatedCompositeFieldContainer[Lost]
    health: _containers.RepeatedCompositeFieldContainer[Health]
    def __init__(self, seq: _Optional[int] = ..., ended: _Optional[_Iterable[_Union[Ended, _Mapping]]] = ..., started: _Optional[_Iterable[_Union[Started, _Mapping]]] = ..., returned: _Optional[_Iterable[_Union[Returned, _Mapping]]] = ..., lost: _Optional[_Iterable[_Union[Lost, _Mapping]]] = ..., health: _Optional[_Iterable[_Union[Health, _Mapping]]] = ...) -> None: ...

class TaskStats(_message.Message):
    __slots__ = ("job", "group", "index", "attempt", "cpu_s", "memory_bytes", "processes", "started_ms", "read_bytes", "written_bytes")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: int
    index: int
    attempt: int
    cpu_s: float
    memory_bytes: int
    processes: int
    started_ms: int
    read_bytes: int
    written_bytes: int
    def __init__(self, job: _Optional[int] = ..., group: _Optional[int] = ..., index: _Optional[int] = ..., attempt: _Optional[int] = ..., cpu_s: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., processes: _Optional[int] = ..., started_ms: _Optional[int] = ..., read_bytes: _Optional[int] = ..., written_bytes: _Optional[int] = ...) -> None: ...

class MachineStats(_message.Message):
    __slots__ = ("at_ms", "cpu_busy", "load_1m", "memory_total_bytes", "memory_available_bytes", "disk_total_bytes", "disk_free_bytes", "tasks_running", "keepers")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_BUSY_FIELD_NUMBER: _ClassVar[int]
    LOAD_1M_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TASKS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    KEEPERS_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    cpu_busy: float
    load_1m: float
    memory_total_bytes: int
    memory_available_bytes: int
    disk_total_bytes: int
    disk_free_bytes: int
    tasks_running: int
    keepers: int
    def __init__(self, at_ms: _Optional[int] = ..., cpu_busy: _Optional[float] = ..., load_1m: _Optional[float] = ..., memory_total_bytes: _Optional[int] = ..., memory_available_bytes: _Optional[int] = ..., disk_total_bytes: _Optional[int] = ..., disk_free_bytes: _Optional[int] = ..., tasks_running: _Optional[int] = ..., keepers: _Optional[int] = ...) -> None: ...

class MachineSample(_message.Message):
    __slots__ = ("at_ms", "cpu_s", "memory_bytes", "read_bytes", "written_bytes", "received_bytes", "sent_bytes", "tasks")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    cpu_s: float
    memory_bytes: int
    read_bytes: int
    written_bytes: int
    received_bytes: int
    sent_bytes: int
    tasks: _containers.RepeatedCompositeFieldContainer[TaskStats]
    def __init__(self, at_ms: _Optional[int] = ..., cpu_s: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., read_bytes: _Optional[int] = ..., written_bytes: _Optional[int] = ..., received_bytes: _Optional[int] = ..., sent_bytes: _Optional[int] = ..., tasks: _Optional[_Iterable[_Union[TaskStats, _Mapping]]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("stats", "samples")
    STATS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    stats: MachineStats
    samples: _containers.RepeatedCompositeFieldContainer[MachineSample]
    def __init__(self, stats: _Optional[_Union[MachineStats, _Mapping]] = ..., samples: _Optional[_Iterable[_Union[MachineSample, _Mapping]]] = ...) -> None: ...

class LogData(_message.Message):
    __slots__ = ("request", "data", "eof", "truncated", "error", "next")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    EOF_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    request: int
    data: bytes
    eof: bool
    truncated: bool
    error: str
    next: int
    def __init__(self, request: _Optional[int] = ..., data: _Optional[bytes] = ..., eof: _Optional[bool] = ..., truncated: _Optional[bool] = ..., error: _Optional[str] = ..., next: _Optional[int] = ...) -> None: ...

class StatsData(_message.Message):
    __slots__ = ("request", "machine", "tasks")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    request: int
    machine: MachineStats
    tasks: _containers.RepeatedCompositeFieldContainer[TaskStats]
    def __init__(self, request: _Optional[int] = ..., machine: _Optional[_Union[MachineStats, _Mapping]] = ..., tasks: _Optional[_Iterable[_Union[TaskStats, _Mapping]]] = ...) -> None: ...

class Goodbye(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Ping(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class Pong(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class CertificateRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: bytes
    def __init__(self, request: _Optional[bytes] = ...) -> None: ...

class NewCertificate(_message.Message):
    __slots__ = ("certificate", "authorities")
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    AUTHORITIES_FIELD_NUMBER: _ClassVar[int]
    certificate: bytes
    authorities: bytes
    def __init__(self, certificate: _Optional[bytes] = ..., authorities: _Optional[bytes] = ...) -> None: ...
