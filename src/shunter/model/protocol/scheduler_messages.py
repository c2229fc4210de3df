"""What policies see and return, in a form that can be sent, recorded and read again.

A `ViewDelta` has what changed since the previous one; the first has everything. `planning.remote.view_writer` makes
deltas from views, `planning.remote.view_reader` makes views from deltas. `Answers` hold values that a view computes
only on request. Columns are lists: they are small on the wire, and every language has them.

A struct whose name ends in Row or Rows is a flat copy of a type of `planning.view` that has NumPy columns or
references. The others are the same in views, on the wire and in recordings. Recordings store fields by position, so add
new ones at the end."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shunter.model.job.spec import QUEUE_DEFAULT, Affinity, Spread
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import Testbed

# What a policy may want to see. What it does not ask for is not worked out, and not there in any mode.
TASKS = "tasks"  # nodes, what waits, usage, queues, licences
OBJECTS = "objects"  # Testbeds, BatchJobs, Schedulings
RUNNING = "running"  # what holds reservations on nodes
RULES = "rules"  # where tasks are that rules (distinct, spread, affinity) speak of
NAMES = "names"  # how jobs are called in reasons; only policies in the manager itself can ask for it
WANTS = (TASKS, OBJECTS, RUNNING, RULES)
WANTS_PLANNER = (TASKS, RUNNING, RULES, NAMES)  # of the built-in planner
WANTS_DEFAULT = (TASKS, OBJECTS, RULES)


class NodeKind(msgspec.Struct, frozen=True, array_like=True):
    """What constraints can ask about. Many nodes share one kind, so a constraint is evaluated once per kind."""

    datacenter: str
    labels: Mapping[str, str]
    attributes: Mapping[str, str]


class NodeRows(msgspec.Struct, frozen=True, array_like=True):
    """Rows of the node columns that changed. Each part has rows of its own: most changes are of amounts and counts."""

    rows: list[int]  # rows that changed, for the next two fields; the one that changed last comes last
    tasks: list[int]
    reserved: dict[str, list[int]]  # resource -> amounts; a resource that changed on none of them is left out
    # row -> tasks, of rows on which nothing else changed, so that their `changed` stays the same
    uncounted: dict[int, int] = {}
    busy: dict[int, float] = {}
    eligible: dict[int, bool] = {}
    owner: dict[int, int] = {}
    kind: dict[int, int] = {}
    because: dict[int, str] = {}  # why a node takes no work; empty: it does


class CapacityRows(msgspec.Struct, frozen=True, array_like=True):
    """Capacities change seldom; `amounts` has a list for each resource."""

    rows: list[int]
    amounts: dict[str, list[int]]


class RuleRow(msgspec.Struct, frozen=True, array_like=True):
    job: int
    gang: int = 0
    exclusive: bool = False
    distinct: str = ""
    spread: tuple[Spread, ...] = ()
    affinity: tuple[Affinity, ...] = ()
    group: int = 0


class ClassRow(msgspec.Struct, frozen=True, array_like=True):
    """A class of tasks; sent once, before or with the first entry that names it."""

    id: int
    needs: dict[str, int]
    namespace: str
    user: str
    priority: int
    datacenters: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    queue: str = QUEUE_DEFAULT
    runtime: str = "process"
    deadline_ms: int = 0
    rules: RuleRow | None = None


class QueuedRow(msgspec.Struct, frozen=True, array_like=True):
    class_id: int
    count: int
    since: int
    since_ms: int = 0
    estimate_s: float = 0.0
    avoid: tuple[int, ...] = ()


class UsageRow(msgspec.Struct, frozen=True, array_like=True):
    """What a user has reserved in a namespace, by resource. Without `amounts`: not there any more."""

    namespace: str
    user: str
    amounts: list[int] | None


class QueueRules(msgspec.Struct, frozen=True, array_like=True):
    """How a named queue is served. A limit of 0 means none."""

    name: str
    is_paused: bool = False
    is_strict: bool = False  # first in, first out: a class that waits blocks all classes behind it
    running_max: int = 0
    running: int = 0  # tasks of it that are on nodes now


class LicenceRow(msgspec.Struct, frozen=True, array_like=True):
    name: str
    total: int
    used: int


class QuotaRow(msgspec.Struct, frozen=True, array_like=True):
    """What the tasks of a tenant may use on nodes together, and what they use: tasks are called `running`."""

    tenant: str
    namespaces: list[str]
    limits: dict[str, int]  # what is missing has no limit
    used: dict[str, int]


class TenantRow(msgspec.Struct, frozen=True, array_like=True):
    """The namespaces of a tenant, among which its share of the cluster is counted together."""

    name: str
    namespaces: list[str]


class RunningRows(msgspec.Struct, frozen=True, array_like=True):
    class_ids: list[int]
    node: list[int]
    count: list[int]
    priority: list[int]
    started_ms: list[int]
    end_ms: list[int]
    is_stopping: list[bool]


class Answers(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a view answered, or would answer, to queries that it computes on demand. `repels` is None if no job on any
    node has a required anti-affinity; an entry of it is None if none of these repels the class."""

    classes: list[ClassRow] = []  # of what runs
    running: RunningRows | None = None
    lowest_priority: int | None = None
    tally: dict[int, dict[int, int]] = {}  # class id -> row -> tasks
    leaving: dict[int, dict[int, int]] = {}  # those of them that end, or end once a successor is up
    presence: dict[str, dict[int, int]] = {}  # match -> row -> tasks
    matches: dict[str, dict[int, bool]] = {}  # match -> class id -> whether it holds
    repels: dict[int, dict[int, int] | None] | None = None
    called: dict[int, str] = {}
    longest_s: dict[int, dict[int, float]] = {}  # class id -> count -> how long the longest of its next tasks runs


class ViewDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    """`number` counts the deltas of one writer from 1, so that a missing one is noticed. Where `is_whole`, everything
    before it is void. None and empty lists mean unchanged."""

    number: int
    version: int
    is_whole: bool = False
    # nodes
    count: int = 0  # of rows in use, row 0 included
    resources: list[str] | None = None
    names: dict[int, str] = {}
    kinds: list[NodeKind] = []  # further ones
    nodes: NodeRows | None = None
    capacity: CapacityRows | None = None
    # what waits
    classes: list[ClassRow] = []
    gone: list[int] = []  # classes that do not wait any more; dropped before `queued` is taken in
    queued: list[QueuedRow] = []
    # who has what
    usage: list[UsageRow] = []
    queues: list[QueueRules] | None = None
    licences: list[LicenceRow] | None = None
    preempt_gap: int | None = None  # the last three: always as they are now
    reserve_after_s: float | None = None
    hold_after_s: float | None = None
    # objects
    testbeds: list[Testbed] = []
    batch_jobs: list[BatchJob] = []
    schedulings: list[Scheduling] = []
    testbeds_gone: list[ObjectName] = []
    batch_jobs_gone: list[ObjectName] = []
    schedulings_gone: list[ObjectName] = []
    quotas: list[QuotaRow] | None = None  # of tenants that have some and tasks to place
    tenants: list[TenantRow] | None = None
    answers: Answers | None = None


class PlacementRow(msgspec.Struct, frozen=True, array_like=True):
    """`counts[i]` tasks of the class go to row `nodes[i]`."""

    class_id: int
    nodes: list[int]
    counts: list[int]


class Preemption(msgspec.Struct, frozen=True, array_like=True):
    """`count` tasks of class `victim` on row `node` are to end, to make room for class `winner`."""

    victim: int
    node: int
    count: int
    winner: int


class SchedulingDraft(msgspec.Struct, frozen=True, array_like=True):
    """A Scheduling to create, or to change into this."""

    name: ObjectName
    spec: SchedulingSpec


class DecisionRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision, to be sent or recorded. `based_on` is the version of the view that it was made on, `number` that of
    the delta that led to this view."""

    based_on: int
    number: int = 0
    placements: list[PlacementRow] = []
    preemptions: list[Preemption] = []
    schedulings: list[SchedulingDraft] = []
    withdrawals: list[ObjectName] = []
    left: int = 0  # tasks that stay queued
    reasons: dict[int, str] = {}
    is_partial: bool = False
    atomic: bool = False
    again_in_ms: int | None = None
    error: str = ""  # why the policy failed to decide: nothing applies, and it is asked again


class Situation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a scheduler is shown at one moment: it decides as of `now`, and places `budget` tasks at most. In shadow,
    `active` is what the active policy decided on the very same view."""

    now: float
    budget: int
    delta: ViewDelta
    active: DecisionRow | None = None


class ItemRefusal(msgspec.Struct, frozen=True, array_like=True):
    """An item of a decision that did not apply, or only in part."""

    item: str  # placements[2] | preemptions[0] | schedulings[1] | withdrawals[0]
    reason: str
    node: str = ""
    count: int = 0  # tasks that it is about


class DecisionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a decision. Whatever is not among the refusals applied, in the commit with this version."""

    version: int
    placed: int = 0  # tasks
    refusals: list[ItemRefusal] = []
    agrees: bool | None = None  # in shadow: whether the active policy decided alike; nothing applied
    is_overruled: bool = False  # too many decisions in a row were refused: the fallback policy places tasks for now


# The names that programs for 0.1.0 import.
KindRow = NodeKind
QueueRow = QueueRules
PreemptionRow = Preemption
SchedulingRow = SchedulingDraft
