from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitRequest(_message.Message):
    __slots__ = ("manifest", "namespace", "idempotency_key")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    manifest: str
    namespace: str
    idempotency_key: str
    def __init__(self, manifest: _Optional[str] = ..., namespace: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class SubmitAnswer(_message.Message):
    __slots__ = ("job", "created", "updated", "position")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    job: Job
    created: bool
    updated: bool
    position: str
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ..., created: _Optional[bool] = ..., updated: _Optional[bool] = ..., position: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("job", "namespace", "tasks_max", "tasks_after")
    JOB_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASKS_MAX_FIELD_NUMBER: _ClassVar[int]
    TASKS_AFTER_FIELD_NUMBER: _ClassVar[int]
    job: str
    namespace: str
    tasks_max: int
    tasks_after: str
    def __init__(self, job: _Optional[str] = ..., namespace: _Optional[str] = ..., tasks_max: _Optional[int] = ..., tasks_after: _Optional[str] = ...) -> None: ...

class GetAnswer(_message.Message):
    __slots__ = ("job", "tasks", "next_task")
    JOB_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_TASK_FIELD_NUMBER: _ClassVar[int]
    job: Job
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    next_task: str
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., next_task: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("namespace", "states", "labels", "limit", "after", "text", "queue", "user", "type")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    states: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.ScalarMap[str, str]
    limit: int
    after: str
    text: str
    queue: str
    user: str
    type: str
    def __init__(self, namespace: _Optional[str] = ..., states: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., limit: _Optional[int] = ..., after: _Optional[str] = ..., text: _Optional[str] = ..., queue: _Optional[str] = ..., user: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class ListAnswer(_message.Message):
    __slots__ = ("jobs", "next", "total")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    next: str
    total: int
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., next: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class WatchJobRequest(_message.Message):
    __slots__ = ("job", "namespace", "after")
    JOB_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    job: str
    namespace: str
    after: str
    def __init__(self, job: _Optional[str] = ..., namespace: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class JobChange(_message.Message):
    __slots__ = ("position", "job", "change", "end")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    position: str
    job: Job
    change: Change
    end: Job
    def __init__(self, position: _Optional[str] = ..., job: _Optional[_Union[Job, _Mapping]] = ..., change: _Optional[_Union[Change, _Mapping]] = ..., end: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("type", "at", "state", "group", "tasks", "node", "attempt", "exit_code", "reason")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    type: str
    at: str
    state: str
    group: str
    tasks: str
    node: str
    attempt: int
    exit_code: int
    reason: str
    def __init__(self, type: _Optional[str] = ..., at: _Optional[str] = ..., state: _Optional[str] = ..., group: _Optional[str] = ..., tasks: _Optional[str] = ..., node: _Optional[str] = ..., attempt: _Optional[int] = ..., exit_code: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class LogsRequest(_message.Message):
    __slots__ = ("job", "namespace", "follow", "tail", "grep", "groups", "indexes", "states", "streams")
    JOB_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    GREP_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    INDEXES_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    STREAMS_FIELD_NUMBER: _ClassVar[int]
    job: str
    namespace: str
    follow: bool
    tail: int
    grep: str
    groups: _containers.RepeatedScalarFieldContainer[str]
    indexes: str
    states: _containers.RepeatedScalarFieldContainer[str]
    streams: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, job: _Optional[str] = ..., namespace: _Optional[str] = ..., follow: _Optional[bool] = ..., tail: _Optional[int] = ..., grep: _Optional[str] = ..., groups: _Optional[_Iterable[str]] = ..., indexes: _Optional[str] = ..., states: _Optional[_Iterable[str]] = ..., streams: _Optional[_Iterable[str]] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("output", "end")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    output: TaskOutput
    end: LogEnd
    def __init__(self, output: _Optional[_Union[TaskOutput, _Mapping]] = ..., end: _Optional[_Union[LogEnd, _Mapping]] = ...) -> None: ...

class TaskOutput(_message.Message):
    __slots__ = ("task", "group", "index", "attempt", "stream", "offset", "next", "data")
    TASK_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    task: str
    group: str
    index: int
    attempt: int
    stream: str
    offset: int
    next: int
    data: bytes
    def __init__(self, task: _Optional[str] = ..., group: _Optional[str] = ..., index: _Optional[int] = ..., attempt: _Optional[int] = ..., stream: _Optional[str] = ..., offset: _Optional[int] = ..., next: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class LogEnd(_message.Message):
    __slots__ = ("tasks", "left_out", "missing")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    tasks: int
    left_out: _containers.RepeatedCompositeFieldContainer[LogGap]
    missing: _containers.RepeatedCompositeFieldContainer[LogGap]
    def __init__(self, tasks: _Optional[int] = ..., left_out: _Optional[_Iterable[_Union[LogGap, _Mapping]]] = ..., missing: _Optional[_Iterable[_Union[LogGap, _Mapping]]] = ...) -> None: ...

class LogGap(_message.Message):
    __slots__ = ("reason", "tasks", "names")
    REASON_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    reason: str
    tasks: int
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, reason: _Optional[str] = ..., tasks: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("job", "namespace", "task", "group", "now", "signal")
    JOB_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    job: str
    namespace: str
    task: int
    group: str
    now: bool
    signal: str
    def __init__(self, job: _Optional[str] = ..., namespace: _Optional[str] = ..., task: _Optional[int] = ..., group: _Optional[str] = ..., now: _Optional[bool] = ..., signal: _Optional[str] = ...) -> None: ...

class CancelAnswer(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("name", "namespace", "id", "run", "state", "type", "count", "counts", "priority", "submitted_at", "started_at", "ended_at", "reason", "labels", "user", "queue", "held", "version", "exit_code")
    class CountsEntry(_message.Message):
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
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    id: int
    run: int
    state: str
    type: str
    count: int
    counts: _containers.ScalarMap[str, int]
    priority: int
    submitted_at: str
    started_at: str
    ended_at: str
    reason: str
    labels: _containers.ScalarMap[str, str]
    user: str
    queue: str
    held: bool
    version: int
    exit_code: int
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ..., id: _Optional[int] = ..., run: _Optional[int] = ..., state: _Optional[str] = ..., type: _Optional[str] = ..., count: _Optional[int] = ..., counts: _Optional[_Mapping[str, int]] = ..., priority: _Optional[int] = ..., submitted_at: _Optional[str] = ..., started_at: _Optional[str] = ..., ended_at: _Optional[str] = ..., reason: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., user: _Optional[str] = ..., queue: _Optional[str] = ..., held: _Optional[bool] = ..., version: _Optional[int] = ..., exit_code: _Optional[int] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("name", "index", "group", "state", "attempt", "node", "exit_code", "started_at", "ended_at", "reason", "restarts")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    index: int
    group: str
    state: str
    attempt: int
    node: str
    exit_code: int
    started_at: str
    ended_at: str
    reason: str
    restarts: int
    def __init__(self, name: _Optional[str] = ..., index: _Optional[int] = ..., group: _Optional[str] = ..., state: _Optional[str] = ..., attempt: _Optional[int] = ..., node: _Optional[str] = ..., exit_code: _Optional[int] = ..., started_at: _Optional[str] = ..., ended_at: _Optional[str] = ..., reason: _Optional[str] = ..., restarts: _Optional[int] = ...) -> None: ...
