"""All metrics that managers and workers expose at /metrics. `shunter metrics list` and docs/reference/metrics.md print
this list; a test compares it with real scrapes."""

from __future__ import annotations

from functools import partial

from shunter.model.metrics.metric import ExposedBy, Metric, MetricKind

FAST_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TASK_S = (
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0,
)  # fmt: skip

_leader = partial(Metric, exposed_by=ExposedBy.LEADER, kind=MetricKind.GAUGE)
_manager = partial(Metric, exposed_by=ExposedBy.MANAGER, kind=MetricKind.GAUGE)
_counter = partial(Metric, exposed_by=ExposedBy.MANAGER, kind=MetricKind.COUNTER)
_fast = partial(Metric, exposed_by=ExposedBy.MANAGER, kind=MetricKind.HISTOGRAM, unit="seconds", buckets=FAST_S)
_long = partial(Metric, exposed_by=ExposedBy.MANAGER, kind=MetricKind.HISTOGRAM, unit="seconds", buckets=TASK_S)
_process = partial(Metric, exposed_by=ExposedBy.PROCESS, kind=MetricKind.GAUGE)

# ---- the cluster ----
JOBS = _leader("shunter_jobs", about="Unfinished jobs.", labels=("state",))
TASKS = _leader("shunter_tasks", about="Unfinished tasks.", labels=("state",))
QUEUE_TASKS = _leader(
    "shunter_queue_tasks", about="Tasks of a queue: queued ones, and those that were sent to a node.",
    labels=("queue", "state"),
)  # fmt: skip
QUEUE_PAUSED = _leader("shunter_queue_paused", about="1 if the queue is paused.", labels=("queue",))
QUOTA_USED = _leader(
    "shunter_tenant_quota_used", about="What a tenant uses of a quota: tasks, cores, bytes or devices.",
    labels=("tenant", "quota"),
)  # fmt: skip
QUOTA_LIMIT = _leader(
    "shunter_tenant_quota_limit", about="The limit of a quota, where it has one.", labels=("tenant", "quota")
)
DEAD_LETTERS = _leader("shunter_dead_letters", about="Tasks that failed after their last restart.")
NODES = _leader("shunter_nodes", about="Nodes.", labels=("state",))
NODES_ELIGIBLE = _leader("shunter_nodes_eligible", about="Nodes that accept tasks.")
CPU_CAPACITY = _leader("shunter_cpu_capacity_cores", about="CPU cores of all nodes.", unit="cores")
CPU_RESERVED = _leader("shunter_cpu_reserved_cores", about="CPU cores that tasks have reserved.", unit="cores")
MEMORY_CAPACITY = _leader("shunter_memory_capacity_bytes", about="Memory of all nodes.", unit="bytes")
MEMORY_RESERVED = _leader("shunter_memory_reserved_bytes", about="Memory that tasks have reserved.", unit="bytes")
RESOURCE_CAPACITY = _leader(
    "shunter_resource_capacity", about="Countable resources of all nodes, such as gpu.", labels=("resource",)
)
RESOURCE_RESERVED = _leader(
    "shunter_resource_reserved", about="Countable resources that tasks have reserved.", labels=("resource",)
)
NODE_UP = _leader("shunter_node_up", about="1 if the node sends heartbeats.", labels=("node",))
NODE_TASKS = _leader("shunter_node_tasks", about="Tasks that were sent to the node.", labels=("node",))
NODE_CPU_BUSY = _leader(
    "shunter_node_cpu_busy_ratio", about="Share of the node's CPU that was busy, from 0 to 1.", labels=("node",),
    unit="ratio",
)  # fmt: skip
NODE_MEMORY_AVAILABLE = _leader(
    "shunter_node_memory_available_bytes", about="Memory that is available on the node.", labels=("node",), unit="bytes"
)
NODE_MEMORY_SIZE = _leader(
    "shunter_node_memory_size_bytes", about="Memory of the node.", labels=("node",), unit="bytes"
)
NODE_DISK_FREE = _leader(
    "shunter_node_disk_free_bytes", about="Free space on the disk of the worker's home.", labels=("node",), unit="bytes"
)
NODE_DISK_SIZE = _leader(
    "shunter_node_disk_size_bytes", about="Size of the disk of the worker's home.", labels=("node",), unit="bytes"
)
TESTBEDS = _leader("shunter_testbeds", about="Testbeds.", labels=("state",))
TESTBED_SLOTS = _leader(
    "shunter_testbed_slots", about="Slots of a testbed, NAMESPACE/NAME.", labels=("testbed", "state")
)
BATCH_JOBS = _leader("shunter_batch_jobs", about="BatchJobs.", labels=("state",))
SCHEDULINGS = _leader("shunter_schedulings", about="Schedulings that were not deleted.", labels=("state",))
STATE_VERSION = _leader("shunter_state_version", about="Version of the committed state; each commit adds 1.")

# ---- what a manager does ----
MANAGER = Metric(
    "shunter_manager", MetricKind.INFO, "The manager and its version.", ExposedBy.MANAGER, ("name", "version")
)
LEADING = _manager("shunter_manager_leading", about="1 if the manager leads, 0 if it follows.")
CAN_COMMIT = _manager("shunter_manager_healthy", about="1 if the manager can do its part: /healthz answers 200.")
LAG = _manager("shunter_manager_lag_seconds", about="How old the state of a follower may be.", unit="seconds")
WORKERS = _manager("shunter_manager_workers", about="Workers that are connected to this manager.")
INBOX = _manager("shunter_inbox_requests", about="Requests and reports that wait for the next round.")
STORE_SIZE = _manager("shunter_store_size_bytes", about="Size of the files of the store.", unit="bytes")
DISK_FREE = _manager("shunter_disk_free_bytes", about="Free space on the disk of SHUNTER_HOME.", unit="bytes")
DISK_SIZE = _manager("shunter_disk_size_bytes", about="Size of the disk of SHUNTER_HOME.", unit="bytes")
LAST_SNAPSHOT = _manager(
    "shunter_last_snapshot_timestamp_seconds", about="When this manager last saved a snapshot; 0: not yet.",
    unit="seconds",
)  # fmt: skip
CERTIFICATE_EXPIRY = _manager(
    "shunter_certificate_expiry_timestamp_seconds",
    about="When the certificate of the manager or one of its chain expires; 0: no TLS.", unit="seconds",
)  # fmt: skip
SNAPSHOTS = _counter("shunter_snapshots", about="Snapshots that were begun.", labels=("result",))
ROUNDS = _fast("shunter_round_duration_seconds", about="Duration of rounds, from the first command to the answers.")
COMMITS = _fast("shunter_commit_duration_seconds", about="Duration of commits of the store.")
COMMIT_FAILURES = _counter("shunter_commit_failures", about="Rounds that failed, so that the state was loaded again.")
SUBMITS = _fast("shunter_submit_duration_seconds", about="Duration of submits, from the request to the answer.")
JOBS_SUBMITTED = _counter("shunter_jobs_submitted", about="Jobs that were submitted.")
JOBS_ENDED = _counter("shunter_jobs_ended", about="Jobs that ended.", labels=("state",))
TASKS_PLACED = _counter(
    "shunter_queue_tasks_placed", about="Tasks of a queue that were sent to a node.", labels=("queue",)
)
ATTEMPTS = _counter("shunter_task_attempts", about="Attempts of tasks that ended.", labels=("result",))
PREEMPTIONS = _counter("shunter_tasks_preempted", about="Tasks that were stopped to make room, drained or moved.")
QUEUE_WAIT = _long(
    "shunter_task_queue_wait_seconds",
    about="From the submit of the job to the first placement of its task; waiting for other jobs counts.",
)
START_LATENCY = _long(
    "shunter_task_start_latency_seconds", about="From the submit of the job to the first start of its task."
)
RUN_TIME = _long("shunter_task_run_time_seconds", about="From the start to the end of an attempt.")
NODE_CHANGES = _counter("shunter_node_state_changes", about="How often the state of a node changed.", labels=("node",))
HTTP_REQUESTS = _counter("shunter_http_requests", about="Requests that were answered.", labels=("code",))

# ---- every process ----
LOOP_LAG = Metric(
    "shunter_event_loop_lag_seconds", MetricKind.HISTOGRAM, "How late the event loop ran a timer of 0.25 s.",
    ExposedBy.PROCESS, unit="seconds", buckets=FAST_S,
)  # fmt: skip
LOOP_STALLS = Metric(
    "shunter_event_loop_stalls", MetricKind.COUNTER, "How often the event loop did nothing else for over 0.5 s.",
    ExposedBy.PROCESS,
)  # fmt: skip
PROCESS_CPU = Metric(
    "process_cpu_seconds", MetricKind.COUNTER, "User and system CPU time.", ExposedBy.PROCESS, unit="seconds"
)
PROCESS_MEMORY = _process("process_resident_memory_bytes", about="Resident memory.", unit="bytes")
PROCESS_VIRTUAL = _process("process_virtual_memory_bytes", about="Virtual memory.", unit="bytes")
PROCESS_FDS = _process("process_open_fds", about="Open file descriptors.")
PROCESS_FDS_MAX = _process("process_max_fds", about="Limit of open file descriptors.")
PROCESS_THREADS = _process("process_threads", about="Threads.")
PROCESS_START = _process("process_start_time_seconds", about="When the process started.", unit="seconds")

METRICS: tuple[Metric, ...] = tuple(each for each in list(globals().values()) if isinstance(each, Metric))
BY_NAME = {metric.name: metric for metric in METRICS}
