"""Who calls the gateway, and references to jobs and tasks. Used by the ports of the gateway."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.model.identity.roles import Role


@dataclass(frozen=True, slots=True)
class Principal:
    """Who presented a credential, and what it may do."""

    user: str
    roles: frozenset[Role]
    key: str = ""  # the id of an API key; empty for the admin token
    tenant: str = ""  # sees and acts on only what this tenant owns; empty: the whole cluster
    testbeds: frozenset[str] = frozenset()  # NAMESPACE/NAME, to which the key is bound; empty: all that it sees
    namespace: str = ""  # to which the key is bound; empty: all that it sees
    queue: str = ""  # to which the key is bound; empty: all
    authority: str = ""  # who vouches for the user: `oidc`, or the name of a plugin; empty: the cluster itself

    @property
    def has_admin_token(self) -> bool:
        return not (self.key or self.authority)

    @property
    def is_cluster_wide(self) -> bool:
        """Whether nothing restricts what it sees."""
        return not (self.tenant or self.testbeds or self.namespace or self.queue)


@dataclass(frozen=True, slots=True)
class JobReference:
    """A run of a job, by id or by name; `run` None means the newest."""

    namespace: str
    name: str = ""
    run: int | None = None
    id: int | None = None  # when set, name and run are ignored


@dataclass(frozen=True, slots=True)
class TaskReference:
    """A task of a job, by the index that users see, and by its group where the job has several. With a `piece`, a
    replaced task of that instance."""

    index: int
    group: str | None = None
    piece: int | None = None
