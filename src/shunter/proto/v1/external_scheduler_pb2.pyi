from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchRequest(_message.Message):
    __slots__ = ("name", "mode", "wants")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    WANTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    mode: str
    wants: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., mode: _Optional[str] = ..., wants: _Optional[_Iterable[str]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("token", "lease_s")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LEASE_S_FIELD_NUMBER: _ClassVar[int]
    token: str
    lease_s: float
    def __init__(self, token: _Optional[str] = ..., lease_s: _Optional[float] = ...) -> None: ...

class Situation(_message.Message):
    __slots__ = ("number", "version", "whole", "now", "budget", "lease", "active", "rows", "resources", "kinds", "nodes", "classes", "gone", "queued", "usage", "queues", "licences", "quotas", "tenants", "preempt_gap", "reserve_after_s", "hold_after_s", "testbeds", "batch_jobs", "schedulings", "testbeds_gone", "batch_jobs_gone", "schedulings_gone", "answers")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    LICENCES_FIELD_NUMBER: _ClassVar[int]
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    PREEMPT_GAP_FIELD_NUMBER: _ClassVar[int]
    RESERVE_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    HOLD_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    TESTBEDS_FIELD_NUMBER: _ClassVar[int]
    BATCH_JOBS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULINGS_FIELD_NUMBER: _ClassVar[int]
    TESTBEDS_GONE_FIELD_NUMBER: _ClassVar[int]
    BATCH_JOBS_GONE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULINGS_GONE_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    number: int
    version: int
    whole: bool
    now: float
    budget: int
    lease: Lease
    active: Decision
    rows: int
    resources: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedCompositeFieldContainer[NodeKind]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    classes: _containers.RepeatedCompositeFieldContainer[TaskClass]
    gone: _containers.RepeatedScalarFieldContainer[int]
    queued: _containers.RepeatedCompositeFieldContainer[Queued]
    usage: _containers.RepeatedCompositeFieldContainer[Usage]
    queues: QueueRules
    licences: Licences
    quotas: TenantQuotas
    tenants: Tenants
    preempt_gap: int
    reserve_after_s: float
    hold_after_s: float
    testbeds: _containers.RepeatedCompositeFieldContainer[Testbed]
    batch_jobs: _containers.RepeatedCompositeFieldContainer[BatchJob]
    schedulings: _containers.RepeatedCompositeFieldContainer[Scheduling]
    testbeds_gone: _containers.RepeatedCompositeFieldContainer[ObjectName]
    batch_jobs_gone: _containers.RepeatedCompositeFieldContainer[ObjectName]
    schedulings_gone: _containers.RepeatedCompositeFieldContainer[ObjectName]
    answers: Answers
    def __init__(self, number: _Optional[int] = ..., version: _Optional[int] = ..., whole: _Optional[bool] = ..., now: _Optional[float] = ..., budget: _Optional[int] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., active: _Optional[_Union[Decision, _Mapping]] = ..., rows: _Optional[int] = ..., resources: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[_Union[NodeKind, _Mapping]]] = ..., nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., classes: _Optional[_Iterable[_Union[TaskClass, _Mapping]]] = ..., gone: _Optional[_Iterable[int]] = ..., queued: _Optional[_Iterable[_Union[Queued, _Mapping]]] = ..., usage: _Optional[_Iterable[_Union[Usage, _Mapping]]] = ..., queues: _Optional[_Union[QueueRules, _Mapping]] = ..., licences: _Optional[_Union[Licences, _Mapping]] = ..., quotas: _Optional[_Union[TenantQuotas, _Mapping]] = ..., tenants: _Optional[_Union[Tenants, _Mapping]] = ..., preempt_gap: _Optional[int] = ..., reserve_after_s: _Optional[float] = ..., hold_after_s: _Optional[float] = ..., testbeds: _Optional[_Iterable[_Union[Testbed, _Mapping]]] = ..., batch_jobs: _Optional[_Iterable[_Union[BatchJob, _Mapping]]] = ..., schedulings: _Optional[_Iterable[_Union[Scheduling, _Mapping]]] = ..., testbeds_gone: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ..., batch_jobs_gone: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ..., schedulings_gone: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ..., answers: _Optional[_Union[Answers, _Mapping]] = ...) -> None: ...

class NodeKind(_message.Message):
    __slots__ = ("datacenter", "labels", "attributes")
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
    DATACENTER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    datacenter: str
    labels: _containers.ScalarMap[str, str]
    attributes: _containers.ScalarMap[str, str]
    def __init__(self, datacenter: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., attributes: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("row", "name", "capacity", "reserved", "tasks", "busy", "eligible", "because", "owner", "kind", "only_counted")
    class CapacityEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ReservedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ROW_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    ELIGIBLE_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ONLY_COUNTED_FIELD_NUMBER: _ClassVar[int]
    row: int
    name: str
    capacity: _containers.ScalarMap[str, int]
    reserved: _containers.ScalarMap[str, int]
    tasks: int
    busy: float
    eligible: bool
    because: str
    owner: int
    kind: int
    only_counted: bool
    def __init__(self, row: _Optional[int] = ..., name: _Optional[str] = ..., capacity: _Optional[_Mapping[str, int]] = ..., reserved: _Optional[_Mapping[str, int]] = ..., tasks: _Optional[int] = ..., busy: _Optional[float] = ..., eligible: _Optional[bool] = ..., because: _Optional[str] = ..., owner: _Optional[int] = ..., kind: _Optional[int] = ..., only_counted: _Optional[bool] = ...) -> None: ...

class TaskClass(_message.Message):
    __slots__ = ("id", "needs", "namespace", "user", "priority", "datacenters", "constraints", "queue", "runtime", "deadline_ms", "rules")
    class NeedsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DATACENTERS_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    id: int
    needs: _containers.ScalarMap[str, int]
    namespace: str
    user: str
    priority: int
    datacenters: _containers.RepeatedScalarFieldContainer[str]
    constraints: _containers.RepeatedScalarFieldContainer[str]
    queue: str
    runtime: str
    deadline_ms: int
    rules: Rules
    def __init__(self, id: _Optional[int] = ..., needs: _Optional[_Mapping[str, int]] = ..., namespace: _Optional[str] = ..., user: _Optional[str] = ..., priority: _Optional[int] = ..., datacenters: _Optional[_Iterable[str]] = ..., constraints: _Optional[_Iterable[str]] = ..., queue: _Optional[str] = ..., runtime: _Optional[str] = ..., deadline_ms: _Optional[int] = ..., rules: _Optional[_Union[Rules, _Mapping]] = ...) -> None: ...

class Rules(_message.Message):
    __slots__ = ("job", "gang", "exclusive", "distinct", "spread", "affinity", "group")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GANG_FIELD_NUMBER: _ClassVar[int]
    EXCLUSIVE_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    SPREAD_FIELD_NUMBER: _ClassVar[int]
    AFFINITY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    job: int
    gang: int
    exclusive: bool
    distinct: str
    spread: _containers.RepeatedCompositeFieldContainer[Spread]
    affinity: _containers.RepeatedCompositeFieldContainer[Affinity]
    group: int
    def __init__(self, job: _Optional[int] = ..., gang: _Optional[int] = ..., exclusive: _Optional[bool] = ..., distinct: _Optional[str] = ..., spread: _Optional[_Iterable[_Union[Spread, _Mapping]]] = ..., affinity: _Optional[_Iterable[_Union[Affinity, _Mapping]]] = ..., group: _Optional[int] = ...) -> None: ...

class Spread(_message.Message):
    __slots__ = ("label", "weight")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    label: str
    weight: float
    def __init__(self, label: _Optional[str] = ..., weight: _Optional[float] = ...) -> None: ...

class Affinity(_message.Message):
    __slots__ = ("to", "match", "require", "weight", "anti")
    TO_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    ANTI_FIELD_NUMBER: _ClassVar[int]
    to: str
    match: str
    require: bool
    weight: float
    anti: bool
    def __init__(self, to: _Optional[str] = ..., match: _Optional[str] = ..., require: _Optional[bool] = ..., weight: _Optional[float] = ..., anti: _Optional[bool] = ...) -> None: ...

class Queued(_message.Message):
    __slots__ = ("class_id", "count", "since", "since_ms", "estimate_s", "avoid")
    CLASS_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_S_FIELD_NUMBER: _ClassVar[int]
    AVOID_FIELD_NUMBER: _ClassVar[int]
    class_id: int
    count: int
    since: int
    since_ms: int
    estimate_s: float
    avoid: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, class_id: _Optional[int] = ..., count: _Optional[int] = ..., since: _Optional[int] = ..., since_ms: _Optional[int] = ..., estimate_s: _Optional[float] = ..., avoid: _Optional[_Iterable[int]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("namespace", "user", "amounts", "gone")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    AMOUNTS_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    user: str
    amounts: _containers.RepeatedScalarFieldContainer[int]
    gone: bool
    def __init__(self, namespace: _Optional[str] = ..., user: _Optional[str] = ..., amounts: _Optional[_Iterable[int]] = ..., gone: _Optional[bool] = ...) -> None: ...

class QueueRules(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[QueueRule]
    def __init__(self, items: _Optional[_Iterable[_Union[QueueRule, _Mapping]]] = ...) -> None: ...

class QueueRule(_message.Message):
    __slots__ = ("name", "is_paused", "is_strict", "running_max", "running")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    IS_STRICT_FIELD_NUMBER: _ClassVar[int]
    RUNNING_MAX_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    name: str
    is_paused: bool
    is_strict: bool
    running_max: int
    running: int
    def __init__(self, name: _Optional[str] = ..., is_paused: _Optional[bool] = ..., is_strict: _Optional[bool] = ..., running_max: _Optional[int] = ..., running: _Optional[int] = ...) -> None: ...

class Licences(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Licence]
    def __init__(self, items: _Optional[_Iterable[_Union[Licence, _Mapping]]] = ...) -> None: ...

class Licence(_message.Message):
    __slots__ = ("name", "total", "used")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    name: str
    total: int
    used: int
    def __init__(self, name: _Optional[str] = ..., total: _Optional[int] = ..., used: _Optional[int] = ...) -> None: ...

class Tenants(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Tenant]
    def __init__(self, items: _Optional[_Iterable[_Union[Tenant, _Mapping]]] = ...) -> None: ...

class Tenant(_message.Message):
    __slots__ = ("name", "namespaces")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class TenantQuotas(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[TenantQuota]
    def __init__(self, items: _Optional[_Iterable[_Union[TenantQuota, _Mapping]]] = ...) -> None: ...

class TenantQuota(_message.Message):
    __slots__ = ("tenant", "namespaces", "limits", "used")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class UsedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    limits: _containers.ScalarMap[str, int]
    used: _containers.ScalarMap[str, int]
    def __init__(self, tenant: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ..., limits: _Optional[_Mapping[str, int]] = ..., used: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Answers(_message.Message):
    __slots__ = ("classes", "running", "lowest_priority", "tally", "leaving", "presence", "matches", "repels", "longest_s")
    class TallyEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: Counts
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[Counts, _Mapping]] = ...) -> None: ...
    class LeavingEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: Counts
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[Counts, _Mapping]] = ...) -> None: ...
    class PresenceEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Counts
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Counts, _Mapping]] = ...) -> None: ...
    class MatchesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Holds
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Holds, _Mapping]] = ...) -> None: ...
    class LongestSEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: Seconds
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[Seconds, _Mapping]] = ...) -> None: ...
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    LOWEST_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TALLY_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    REPELS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_S_FIELD_NUMBER: _ClassVar[int]
    classes: _containers.RepeatedCompositeFieldContainer[TaskClass]
    running: Running
    lowest_priority: int
    tally: _containers.MessageMap[int, Counts]
    leaving: _containers.MessageMap[int, Counts]
    presence: _containers.MessageMap[str, Counts]
    matches: _containers.MessageMap[str, Holds]
    repels: Repels
    longest_s: _containers.MessageMap[int, Seconds]
    def __init__(self, classes: _Optional[_Iterable[_Union[TaskClass, _Mapping]]] = ..., running: _Optional[_Union[Running, _Mapping]] = ..., lowest_priority: _Optional[int] = ..., tally: _Optional[_Mapping[int, Counts]] = ..., leaving: _Optional[_Mapping[int, Counts]] = ..., presence: _Optional[_Mapping[str, Counts]] = ..., matches: _Optional[_Mapping[str, Holds]] = ..., repels: _Optional[_Union[Repels, _Mapping]] = ..., longest_s: _Optional[_Mapping[int, Seconds]] = ...) -> None: ...

class Counts(_message.Message):
    __slots__ = ("by_row",)
    class ByRowEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    BY_ROW_FIELD_NUMBER: _ClassVar[int]
    by_row: _containers.ScalarMap[int, int]
    def __init__(self, by_row: _Optional[_Mapping[int, int]] = ...) -> None: ...

class Seconds(_message.Message):
    __slots__ = ("by_count",)
    class ByCountEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: float
        def __init__(self, key: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...
    BY_COUNT_FIELD_NUMBER: _ClassVar[int]
    by_count: _containers.ScalarMap[int, float]
    def __init__(self, by_count: _Optional[_Mapping[int, float]] = ...) -> None: ...

class Holds(_message.Message):
    __slots__ = ("by_class",)
    class ByClassEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: bool
        def __init__(self, key: _Optional[int] = ..., value: _Optional[bool] = ...) -> None: ...
    BY_CLASS_FIELD_NUMBER: _ClassVar[int]
    by_class: _containers.ScalarMap[int, bool]
    def __init__(self, by_class: _Optional[_Mapping[int, bool]] = ...) -> None: ...

class Repels(_message.Message):
    __slots__ = ("by_class", "nobody")
    class ByClassEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: Counts
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[Counts, _Mapping]] = ...) -> None: ...
    BY_CLASS_FIELD_NUMBER: _ClassVar[int]
    NOBODY_FIELD_NUMBER: _ClassVar[int]
    by_class: _containers.MessageMap[int, Counts]
    nobody: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, by_class: _Optional[_Mapping[int, Counts]] = ..., nobody: _Optional[_Iterable[int]] = ...) -> None: ...

class Running(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RunningTasks]
    def __init__(self, items: _Optional[_Iterable[_Union[RunningTasks, _Mapping]]] = ...) -> None: ...

class RunningTasks(_message.Message):
    __slots__ = ("class_id", "node", "count", "priority", "started_ms", "end_ms", "is_stopping")
    CLASS_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    END_MS_FIELD_NUMBER: _ClassVar[int]
    IS_STOPPING_FIELD_NUMBER: _ClassVar[int]
    class_id: int
    node: int
    count: int
    priority: int
    started_ms: int
    end_ms: int
    is_stopping: bool
    def __init__(self, class_id: _Optional[int] = ..., node: _Optional[int] = ..., count: _Optional[int] = ..., priority: _Optional[int] = ..., started_ms: _Optional[int] = ..., end_ms: _Optional[int] = ..., is_stopping: _Optional[bool] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("token", "based_on", "number", "placements", "preemptions", "schedulings", "withdrawals", "atomic", "is_partial", "again_in_ms", "left", "reasons", "error")
    class ReasonsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: str
        def __init__(self, key: _Optional[int] = ..., value: _Optional[str] = ...) -> None: ...
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    BASED_ON_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PLACEMENTS_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULINGS_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWALS_FIELD_NUMBER: _ClassVar[int]
    ATOMIC_FIELD_NUMBER: _ClassVar[int]
    IS_PARTIAL_FIELD_NUMBER: _ClassVar[int]
    AGAIN_IN_MS_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    token: str
    based_on: int
    number: int
    placements: _containers.RepeatedCompositeFieldContainer[Placement]
    preemptions: _containers.RepeatedCompositeFieldContainer[Preemption]
    schedulings: _containers.RepeatedCompositeFieldContainer[SchedulingDraft]
    withdrawals: _containers.RepeatedCompositeFieldContainer[ObjectName]
    atomic: bool
    is_partial: bool
    again_in_ms: int
    left: int
    reasons: _containers.ScalarMap[int, str]
    error: str
    def __init__(self, token: _Optional[str] = ..., based_on: _Optional[int] = ..., number: _Optional[int] = ..., placements: _Optional[_Iterable[_Union[Placement, _Mapping]]] = ..., preemptions: _Optional[_Iterable[_Union[Preemption, _Mapping]]] = ..., schedulings: _Optional[_Iterable[_Union[SchedulingDraft, _Mapping]]] = ..., withdrawals: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ..., atomic: _Optional[bool] = ..., is_partial: _Optional[bool] = ..., again_in_ms: _Optional[int] = ..., left: _Optional[int] = ..., reasons: _Optional[_Mapping[int, str]] = ..., error: _Optional[str] = ...) -> None: ...

class Placement(_message.Message):
    __slots__ = ("class_id", "nodes", "counts")
    CLASS_ID_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    class_id: int
    nodes: _containers.RepeatedScalarFieldContainer[int]
    counts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, class_id: _Optional[int] = ..., nodes: _Optional[_Iterable[int]] = ..., counts: _Optional[_Iterable[int]] = ...) -> None: ...

class Preemption(_message.Message):
    __slots__ = ("victim", "node", "count", "winner")
    VICTIM_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    WINNER_FIELD_NUMBER: _ClassVar[int]
    victim: int
    node: int
    count: int
    winner: int
    def __init__(self, victim: _Optional[int] = ..., node: _Optional[int] = ..., count: _Optional[int] = ..., winner: _Optional[int] = ...) -> None: ...

class SchedulingDraft(_message.Message):
    __slots__ = ("name", "spec")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    name: ObjectName
    spec: SchedulingSpec
    def __init__(self, name: _Optional[_Union[ObjectName, _Mapping]] = ..., spec: _Optional[_Union[SchedulingSpec, _Mapping]] = ...) -> None: ...

class DecisionAnswer(_message.Message):
    __slots__ = ("version", "placed", "refusals", "agrees", "is_overruled")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    AGREES_FIELD_NUMBER: _ClassVar[int]
    IS_OVERRULED_FIELD_NUMBER: _ClassVar[int]
    version: int
    placed: int
    refusals: _containers.RepeatedCompositeFieldContainer[ItemRefusal]
    agrees: bool
    is_overruled: bool
    def __init__(self, version: _Optional[int] = ..., placed: _Optional[int] = ..., refusals: _Optional[_Iterable[_Union[ItemRefusal, _Mapping]]] = ..., agrees: _Optional[bool] = ..., is_overruled: _Optional[bool] = ...) -> None: ...

class ItemRefusal(_message.Message):
    __slots__ = ("item", "reason", "node", "count")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    item: str
    reason: str
    node: str
    count: int
    def __init__(self, item: _Optional[str] = ..., reason: _Optional[str] = ..., node: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class ObjectName(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class Meta(_message.Message):
    __slots__ = ("uid", "namespace", "name", "created_ms", "user", "generation", "revision", "labels", "annotations", "deleting_ms")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    UID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_MS_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    DELETING_MS_FIELD_NUMBER: _ClassVar[int]
    uid: int
    namespace: str
    name: str
    created_ms: int
    user: str
    generation: int
    revision: int
    labels: _containers.ScalarMap[str, str]
    annotations: _containers.ScalarMap[str, str]
    deleting_ms: int
    def __init__(self, uid: _Optional[int] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., created_ms: _Optional[int] = ..., user: _Optional[str] = ..., generation: _Optional[int] = ..., revision: _Optional[int] = ..., labels: _Optional[_Mapping[str, str]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., deleting_ms: _Optional[int] = ...) -> None: ...

class Texts(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...

class SlotPlace(_message.Message):
    __slots__ = ("node", "position")
    NODE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    node: str
    position: int
    def __init__(self, node: _Optional[str] = ..., position: _Optional[int] = ...) -> None: ...

class SlotHolder(_message.Message):
    __slots__ = ("job", "executor", "scheduling")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    job: ObjectName
    executor: int
    scheduling: ObjectName
    def __init__(self, job: _Optional[_Union[ObjectName, _Mapping]] = ..., executor: _Optional[int] = ..., scheduling: _Optional[_Union[ObjectName, _Mapping]] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("place", "node_id", "size", "state", "since_ms", "holder", "is_leaving")
    class SizeEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    PLACE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    IS_LEAVING_FIELD_NUMBER: _ClassVar[int]
    place: SlotPlace
    node_id: int
    size: _containers.ScalarMap[str, int]
    state: str
    since_ms: int
    holder: SlotHolder
    is_leaving: bool
    def __init__(self, place: _Optional[_Union[SlotPlace, _Mapping]] = ..., node_id: _Optional[int] = ..., size: _Optional[_Mapping[str, int]] = ..., state: _Optional[str] = ..., since_ms: _Optional[int] = ..., holder: _Optional[_Union[SlotHolder, _Mapping]] = ..., is_leaving: _Optional[bool] = ...) -> None: ...

class Testbed(_message.Message):
    __slots__ = ("meta", "spec", "status")
    META_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    meta: Meta
    spec: TestbedSpec
    status: TestbedStatus
    def __init__(self, meta: _Optional[_Union[Meta, _Mapping]] = ..., spec: _Optional[_Union[TestbedSpec, _Mapping]] = ..., status: _Optional[_Union[TestbedStatus, _Mapping]] = ...) -> None: ...

class TestbedSpec(_message.Message):
    __slots__ = ("slots_per_node", "node_label", "resources_per_slot", "sharing")
    class ResourcesPerSlotEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    SLOTS_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    NODE_LABEL_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_PER_SLOT_FIELD_NUMBER: _ClassVar[int]
    SHARING_FIELD_NUMBER: _ClassVar[int]
    slots_per_node: int
    node_label: str
    resources_per_slot: _containers.ScalarMap[str, int]
    sharing: str
    def __init__(self, slots_per_node: _Optional[int] = ..., node_label: _Optional[str] = ..., resources_per_slot: _Optional[_Mapping[str, int]] = ..., sharing: _Optional[str] = ...) -> None: ...

class TestbedStatus(_message.Message):
    __slots__ = ("state", "slots", "node_problems", "problems", "observed_generation", "claims")
    class NodeProblemsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Texts
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Texts, _Mapping]] = ...) -> None: ...
    STATE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    NODE_PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    state: str
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    node_problems: _containers.MessageMap[str, Texts]
    problems: _containers.RepeatedScalarFieldContainer[str]
    observed_generation: int
    claims: _containers.RepeatedCompositeFieldContainer[ObjectName]
    def __init__(self, state: _Optional[str] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., node_problems: _Optional[_Mapping[str, Texts]] = ..., problems: _Optional[_Iterable[str]] = ..., observed_generation: _Optional[int] = ..., claims: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ...) -> None: ...

class BatchJob(_message.Message):
    __slots__ = ("meta", "spec", "claim", "status")
    META_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    meta: Meta
    spec: BatchJobSpec
    claim: Claim
    status: BatchJobStatus
    def __init__(self, meta: _Optional[_Union[Meta, _Mapping]] = ..., spec: _Optional[_Union[BatchJobSpec, _Mapping]] = ..., claim: _Optional[_Union[Claim, _Mapping]] = ..., status: _Optional[_Union[BatchJobStatus, _Mapping]] = ...) -> None: ...

class BatchJobSpec(_message.Message):
    __slots__ = ("spark_json", "flink_json", "command_json", "external", "driver_json", "on_node_loss")
    class ExternalEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ExternalData
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ExternalData, _Mapping]] = ...) -> None: ...
    SPARK_JSON_FIELD_NUMBER: _ClassVar[int]
    FLINK_JSON_FIELD_NUMBER: _ClassVar[int]
    COMMAND_JSON_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_FIELD_NUMBER: _ClassVar[int]
    DRIVER_JSON_FIELD_NUMBER: _ClassVar[int]
    ON_NODE_LOSS_FIELD_NUMBER: _ClassVar[int]
    spark_json: str
    flink_json: str
    command_json: str
    external: _containers.MessageMap[str, ExternalData]
    driver_json: str
    on_node_loss: str
    def __init__(self, spark_json: _Optional[str] = ..., flink_json: _Optional[str] = ..., command_json: _Optional[str] = ..., external: _Optional[_Mapping[str, ExternalData]] = ..., driver_json: _Optional[str] = ..., on_node_loss: _Optional[str] = ...) -> None: ...

class ExternalData(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[ExternalEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[ExternalEntry, _Mapping]]] = ...) -> None: ...

class ExternalEntry(_message.Message):
    __slots__ = ("values",)
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.ScalarMap[str, str]
    def __init__(self, values: _Optional[_Mapping[str, str]] = ...) -> None: ...

class CreationRequest(_message.Message):
    __slots__ = ("testbed", "slot_ids")
    TESTBED_FIELD_NUMBER: _ClassVar[int]
    SLOT_IDS_FIELD_NUMBER: _ClassVar[int]
    testbed: ObjectName
    slot_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, testbed: _Optional[_Union[ObjectName, _Mapping]] = ..., slot_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("scheduling", "request")
    SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    scheduling: ObjectName
    request: CreationRequest
    def __init__(self, scheduling: _Optional[_Union[ObjectName, _Mapping]] = ..., request: _Optional[_Union[CreationRequest, _Mapping]] = ...) -> None: ...

class ScheduledEvent(_message.Message):
    __slots__ = ("start_ms", "scheduling", "testbed", "slot_ids", "job", "stop_ms", "successful", "reason")
    START_MS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    TESTBED_FIELD_NUMBER: _ClassVar[int]
    SLOT_IDS_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    STOP_MS_FIELD_NUMBER: _ClassVar[int]
    SUCCESSFUL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    start_ms: int
    scheduling: ObjectName
    testbed: ObjectName
    slot_ids: _containers.RepeatedScalarFieldContainer[int]
    job: int
    stop_ms: int
    successful: bool
    reason: str
    def __init__(self, start_ms: _Optional[int] = ..., scheduling: _Optional[_Union[ObjectName, _Mapping]] = ..., testbed: _Optional[_Union[ObjectName, _Mapping]] = ..., slot_ids: _Optional[_Iterable[int]] = ..., job: _Optional[int] = ..., stop_ms: _Optional[int] = ..., successful: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class BatchJobStatus(_message.Message):
    __slots__ = ("state", "events", "active_scheduling", "testbed", "slot_ids", "places", "application", "problems", "observed_generation", "runs", "since_ms", "restarts")
    STATE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    TESTBED_FIELD_NUMBER: _ClassVar[int]
    SLOT_IDS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    state: str
    events: _containers.RepeatedCompositeFieldContainer[ScheduledEvent]
    active_scheduling: ObjectName
    testbed: ObjectName
    slot_ids: _containers.RepeatedScalarFieldContainer[int]
    places: _containers.RepeatedCompositeFieldContainer[SlotPlace]
    application: int
    problems: _containers.RepeatedScalarFieldContainer[str]
    observed_generation: int
    runs: int
    since_ms: int
    restarts: int
    def __init__(self, state: _Optional[str] = ..., events: _Optional[_Iterable[_Union[ScheduledEvent, _Mapping]]] = ..., active_scheduling: _Optional[_Union[ObjectName, _Mapping]] = ..., testbed: _Optional[_Union[ObjectName, _Mapping]] = ..., slot_ids: _Optional[_Iterable[int]] = ..., places: _Optional[_Iterable[_Union[SlotPlace, _Mapping]]] = ..., application: _Optional[int] = ..., problems: _Optional[_Iterable[str]] = ..., observed_generation: _Optional[int] = ..., runs: _Optional[int] = ..., since_ms: _Optional[int] = ..., restarts: _Optional[int] = ...) -> None: ...

class SlotJob(_message.Message):
    __slots__ = ("job", "slot_ids")
    JOB_FIELD_NUMBER: _ClassVar[int]
    SLOT_IDS_FIELD_NUMBER: _ClassVar[int]
    job: ObjectName
    slot_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, job: _Optional[_Union[ObjectName, _Mapping]] = ..., slot_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class SchedulingSpec(_message.Message):
    __slots__ = ("testbed", "queue", "slots", "mode", "confirmation_timeout_s")
    TESTBED_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    testbed: ObjectName
    queue: _containers.RepeatedCompositeFieldContainer[ObjectName]
    slots: _containers.RepeatedCompositeFieldContainer[SlotJob]
    mode: str
    confirmation_timeout_s: float
    def __init__(self, testbed: _Optional[_Union[ObjectName, _Mapping]] = ..., queue: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ..., slots: _Optional[_Iterable[_Union[SlotJob, _Mapping]]] = ..., mode: _Optional[str] = ..., confirmation_timeout_s: _Optional[float] = ...) -> None: ...

class JobRecord(_message.Message):
    __slots__ = ("progress", "slot_ids", "application")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SLOT_IDS_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    progress: str
    slot_ids: _containers.RepeatedScalarFieldContainer[int]
    application: int
    def __init__(self, progress: _Optional[str] = ..., slot_ids: _Optional[_Iterable[int]] = ..., application: _Optional[int] = ...) -> None: ...

class SchedulingStatus(_message.Message):
    __slots__ = ("state", "since_ms", "jobs", "waits_for", "problems", "observed_generation", "leaving")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    state: str
    since_ms: int
    jobs: _containers.RepeatedCompositeFieldContainer[JobRecord]
    waits_for: str
    problems: _containers.RepeatedScalarFieldContainer[str]
    observed_generation: int
    leaving: _containers.RepeatedCompositeFieldContainer[ObjectName]
    def __init__(self, state: _Optional[str] = ..., since_ms: _Optional[int] = ..., jobs: _Optional[_Iterable[_Union[JobRecord, _Mapping]]] = ..., waits_for: _Optional[str] = ..., problems: _Optional[_Iterable[str]] = ..., observed_generation: _Optional[int] = ..., leaving: _Optional[_Iterable[_Union[ObjectName, _Mapping]]] = ...) -> None: ...

class Scheduling(_message.Message):
    __slots__ = ("meta", "spec", "status")
    META_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    meta: Meta
    spec: SchedulingSpec
    status: SchedulingStatus
    def __init__(self, meta: _Optional[_Union[Meta, _Mapping]] = ..., spec: _Optional[_Union[SchedulingSpec, _Mapping]] = ..., status: _Optional[_Union[SchedulingStatus, _Mapping]] = ...) -> None: ...
