"""What a caller sees: the one place that decides it. The gateway binds a Scope to the sub-gateways of each caller.

Who is restricted to a tenant, a namespace or testbeds sees some namespaces. All others look to it as if they had never
been used, and asking for what is in them is answered with the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.engine.engine import Engine
from shunter.engine.state.registries.tenants import Tenant
from shunter.model.errors import Forbidden, Invalid, NotFound, Problem
from shunter.model.job.spec import QUEUE_DEFAULT, JobSpec
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.ports.principals import Principal

RESERVES_NODES = (
    "a Testbed reserves nodes, which belong to the cluster: this needs a cluster-wide credential. An operator of the "
    "cluster creates Testbeds in your namespace"
)
KEY_SEPARATOR = "\0"  # no client can send it in an idempotency key


def cluster_scope(engine: Engine) -> Scope:
    """Sees everything."""
    return Scope(Principal("", frozenset()), engine)


class Scope:
    def __init__(self, caller: Principal, engine: Engine) -> None:
        self._caller, self._engine = caller, engine
        self._testbed_namespaces = frozenset(each.partition("/")[0] for each in caller.testbeds)
        self.sees_all = not (caller.tenant or caller.testbeds or caller.namespace)

    def sees(self, namespace: str | None) -> bool:
        """None is what belongs to no namespace: the cluster."""
        caller = self._caller
        if self.sees_all:
            return True
        if namespace is None or (caller.tenant and self._engine.state.tenants.owner_of(namespace) != caller.tenant):
            return False
        if caller.namespace and namespace != caller.namespace:
            return False
        return not caller.testbeds or namespace in self._testbed_namespaces

    def sees_queue(self, queue: str) -> bool:
        if self._caller.queue:
            return queue == self._caller.queue
        tenant = self.tenant
        return tenant is None or queue == QUEUE_DEFAULT or queue in tenant.queues

    def select(self, namespace: str | None) -> tuple[str | None, ...]:
        """The namespaces that a list of one, or of all, reads. (None,) means all that there are."""
        if namespace is not None:
            return (namespace,) if self.sees(namespace) else ()
        return (None,) if self.sees_all else self.namespaces()

    def namespaces(self) -> tuple[str, ...]:
        """All that a restricted caller sees."""
        tenant, caller = self.tenant, self._caller
        known: Iterable[str] = tenant.namespaces if tenant is not None else (caller.namespace,)
        if caller.testbeds and tenant is None and not caller.namespace:
            known = sorted(self._testbed_namespaces)
        return tuple(each for each in known if each and self.sees(each))

    @property
    def visible(self) -> frozenset[str] | None:
        """The namespaces that the caller sees now; None means all."""
        return None if self.sees_all else frozenset(self.namespaces())

    def require_jobs(self, specs: Iterable[JobSpec]) -> None:
        """Before jobs are created or planned. Raises NotFound or Forbidden."""
        for spec in specs:
            self.require(spec.namespace)
            self.require_queue(spec.options.queue)

    def require_objects(self, drafts: Iterable[Draft]) -> None:
        """Before objects are created, changed or planned. Raises NotFound, Forbidden or Invalid."""
        for draft in drafts:
            self.require(draft.name.namespace)
            if isinstance(draft.spec, SchedulingSpec):
                named = {job.namespace: job for job in draft.spec.distinct_jobs}
                named[draft.spec.testbed.namespace] = draft.spec.testbed
                for namespace in sorted(named):
                    self.require(namespace)
                self.require_testbed(draft.spec.testbed)
                self._check_owners(draft.name.namespace, named)
            elif draft.kind == TESTBED and not self.sees_all:
                raise Forbidden(RESERVES_NODES)

    def require(self, namespace: str) -> None:
        """Before something is created. Raises NotFound."""
        if not self.sees(namespace):
            raise NotFound(f"namespace '{namespace}' does not exist; `shunter whoami` shows those that you see")

    def require_queue(self, queue: str) -> None:
        """Before something is created. Raises NotFound or Forbidden."""
        if self._caller.queue and queue != self._caller.queue:
            raise Forbidden(f"your key is bound to queue '{self._caller.queue}'")
        if not self.sees_queue(queue):
            raise NotFound(f"queue '{queue}' does not exist; `shunter queues` lists yours")

    def require_testbed(self, name: ObjectName) -> None:
        """Raises Forbidden if the caller is bound to other testbeds."""
        if self._caller.testbeds and f"{name.namespace}/{name.name}" not in self._caller.testbeds:
            bound = ", ".join(sorted(self._caller.testbeds))
            raise Forbidden(f"your key is bound to testbed {bound}")

    def _check_owners(self, namespace: str, named: Mapping[str, ObjectName]) -> None:
        """What a Scheduling names must have its owner: else the status of each would name what another tenant owns. The
        engine treats what has another owner as absent."""
        for other, name in named.items():
            if not self._engine.state.tenants.share_owner(namespace, other):
                fault = f"names {name}, whose namespace has another owner"
                fix = "a Scheduling, its testbed and its jobs belong to the same tenant"
                raise Invalid([Problem("spec", fault, str(name), fix)])

    def own_key(self, key: str | None) -> str | None:
        """An idempotency key as the engine knows it: those who do not see each other's jobs may use the same ones."""
        caller = self._caller
        bounds = (caller.namespace, caller.queue) if caller.namespace or caller.queue else ()
        owner = (caller.tenant, *bounds) if caller.tenant or bounds else ()
        return KEY_SEPARATOR.join((*owner, key)) if key else key

    @property
    def tenant(self) -> Tenant | None:
        """The caller's own; None for who is not restricted to one."""
        return self._engine.state.tenants.tenants.get(self._caller.tenant) if self._caller.tenant else None

    @property
    def default_namespace(self) -> str | None:
        """For requests that name none; None if the caller has none of its own."""
        own = self.namespaces() if not self.sees_all else ()
        return own[0] if own else None
