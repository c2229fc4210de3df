"""The engine's commands. Each puts a function into the inbox, and the next round calls it. Called by the gateway and
the watcher."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from shunter.engine.audit.seal import on_checkpoint, on_noted, on_refused
from shunter.engine.cluster_settings import on_set
from shunter.engine.identity.join_tokens import (
    JoinTokenDraft,
    on_create_join_token,
    on_revoke_join_token,
    on_use_join_token,
)
from shunter.engine.identity.keys import (
    ALL_KEYS,
    KeyDraft,
    ManagedKeys,
    on_create_key,
    on_end_session,
    on_key_used,
    on_revoke_key,
    on_rotate_key,
)
from shunter.engine.identity.tenants import TenantUpdate, on_create_tenant, on_delete_tenant, on_update_tenant
from shunter.engine.identity.users import on_put_user
from shunter.engine.inbox import NeededRuns
from shunter.engine.jobs.apply_file import MixedFile, on_apply_file
from shunter.engine.jobs.dead_letters import on_purge_dead_letters, on_replay_dead_letters
from shunter.engine.jobs.hold import on_hold
from shunter.engine.jobs.queue_admin import on_queue_drop, on_queue_patch, on_queue_purge
from shunter.engine.jobs.rerun import on_rerun
from shunter.engine.jobs.run_keys import keys_of_drafts, keys_of_specs, keys_of_template
from shunter.engine.jobs.stop import on_stop
from shunter.engine.jobs.submit import GeneratedNameTaken, SubmitResult, on_submit
from shunter.engine.jobs.templates import Dispatch, on_dispatch, on_drop_template, on_pause_template
from shunter.engine.nodes.cordon import on_cordon, on_release_node
from shunter.engine.nodes.disconnect import on_forget
from shunter.engine.nodes.drain import on_drain, on_undrain
from shunter.engine.nodes.inventory import on_inventory
from shunter.engine.nodes.registration import on_attribute, on_hello, on_label, on_node_event
from shunter.engine.nodes.reports import apply_report, on_report
from shunter.engine.objects.apply import ApplyResult, on_apply, on_delete, on_reset, on_write_external
from shunter.engine.placement.move import on_move
from shunter.engine.round import Round
from shunter.engine.secrets.secrets import Resealed, on_delete_secret, on_reseal_secrets, on_set_secret
from shunter.engine.services.update import on_restart, on_rollback, on_scale, on_update_request
from shunter.engine.state.state import State
from shunter.model.audit.records import Checkpoint, RefusedRequests
from shunter.model.identity.keys import SecretDigest
from shunter.model.identity.roles import Role
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import NodeEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Draft
from shunter.model.protocol.worker_messages import Hello, Inventory, Refused, Report, Welcome
from shunter.model.secrets import SealedValue
from shunter.ports.admin import QueueChange
from shunter.ports.store import RunKey

T = TypeVar("T")
TaskRef = tuple[str, int]  # the group's name and the visible index


class EngineCommands(ABC):
    @abstractmethod
    async def ask(self, handler: Callable[[Round], T], runs: NeededRuns | None = None) -> T:
        """Return what a round decided, after its commit. `runs` are the ended runs that the handler has to know. Raises
        Busy and Unavailable, without having changed anything."""

    @abstractmethod
    def tell(
        self, handler: Callable[[Round], None], node: int = 0, runs: NeededRuns | None = None, entries: int = 1
    ) -> None:
        """Let the next round decide; the caller does not wait. If it refuses a report, the connection of the node's
        worker ends."""

    @abstractmethod
    def with_names(self, specs: list[JobSpec]) -> tuple[list[JobSpec], frozenset[int]]:
        """The specs with names for those that have none, and the positions of these."""

    @abstractmethod
    def with_other_names(self, specs: list[JobSpec], positions: Collection[int]) -> list[JobSpec]:
        """The specs with new names at these positions."""

    # ---- callers ----

    async def submit(self, specs: list[JobSpec], user: str, key: str | None = None) -> list[SubmitResult]:
        named, generated = self.with_names(specs)
        while True:
            submit = partial(on_submit, specs=named, user=user, key=key, generated=generated)
            try:
                return await self.ask(submit, partial(_runs_of_specs, named))
            except GeneratedNameTaken as taken:
                named = self.with_other_names(named, taken.positions)

    async def start_run(self, spec: JobSpec, user: str, key: str | None = None) -> SubmitResult:
        """Start a run of a spec from history."""
        return await self.ask(partial(on_rerun, spec=spec, user=user, key=key), partial(_runs_of_specs, [spec]))

    async def hold(self, job_id: int, is_held: bool) -> None:
        await self.ask(partial(on_hold, job_id=job_id, is_held=is_held))

    async def dispatch(self, dispatch: Dispatch) -> SubmitResult:
        runs = partial(keys_of_template, namespace=dispatch.namespace, name=dispatch.name)
        return await self.ask(partial(on_dispatch, dispatch=dispatch), runs)

    async def pause_template(self, namespace: str, name: str, is_paused: bool) -> None:
        await self.ask(partial(on_pause_template, namespace=namespace, name=name, is_paused=is_paused))

    async def drop_template(self, namespace: str, name: str) -> None:
        await self.ask(partial(on_drop_template, namespace=namespace, name=name))

    async def patch_queue(self, name: str, change: QueueChange) -> None:
        await self.ask(partial(on_queue_patch, name=name, change=change))

    async def drop_queue(self, name: str) -> None:
        await self.ask(partial(on_queue_drop, name=name))

    async def purge_queue(self, name: str, user: str) -> int:
        return await self.ask(partial(on_queue_purge, name=name, user=user))

    async def put_user(
        self, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None, by: str, tenant: str = ""
    ) -> None:
        put = partial(on_put_user, name=name, roles=roles, is_disabled=is_disabled, by=by, tenant=tenant)
        await self.ask(put)

    async def create_tenant(self, name: str, update: TenantUpdate, by: str) -> None:
        await self.ask(partial(on_create_tenant, name=name, update=update, by=by))

    async def update_tenant(self, name: str, update: TenantUpdate, by: str) -> None:
        await self.ask(partial(on_update_tenant, name=name, update=update, by=by))

    async def delete_tenant(self, name: str, by: str) -> None:
        await self.ask(partial(on_delete_tenant, name=name, by=by))

    async def create_key(self, draft: KeyDraft, by: str) -> None:
        await self.ask(partial(on_create_key, draft=draft, by=by))

    async def rotate_key(
        self, id: str, secret: SecretDigest, overlap_s: float, by: str, managed: ManagedKeys = ALL_KEYS
    ) -> None:
        rotate = partial(on_rotate_key, id=id, secret=secret, overlap_s=overlap_s, by=by, managed=managed)
        await self.ask(rotate)

    async def revoke_key(self, id: str, by: str, managed: ManagedKeys = ALL_KEYS) -> None:
        await self.ask(partial(on_revoke_key, id=id, by=by, managed=managed))

    async def end_session(self, id: str, expires_ms: int) -> None:
        await self.ask(partial(on_end_session, id=id, expires_ms=expires_ms))

    async def note_key_use(self, id: str) -> None:
        await self.ask(partial(on_key_used, id=id))

    async def create_join_token(self, draft: JoinTokenDraft, by: str) -> None:
        await self.ask(partial(on_create_join_token, draft=draft, by=by))

    async def use_join_token(self, id: str, secret: str, key: bytes) -> str:
        """The node as which the holder of the key may join."""
        return await self.ask(partial(on_use_join_token, id=id, secret=secret, key=key))

    async def revoke_join_token(self, id: str, by: str) -> None:
        await self.ask(partial(on_revoke_join_token, id=id, by=by))

    async def set_secret(
        self, namespace: str, name: str, sealed: SealedValue, by: str, *, is_text: bool = True
    ) -> None:
        await self.ask(partial(on_set_secret, namespace=namespace, name=name, sealed=sealed, by=by, is_text=is_text))

    async def delete_secret(self, namespace: str, name: str, by: str) -> None:
        await self.ask(partial(on_delete_secret, namespace=namespace, name=name, by=by))

    async def reseal_secrets(self, resealed: Sequence[Resealed]) -> int:
        return await self.ask(partial(on_reseal_secrets, resealed=resealed))

    async def replay(self, numbers: list[int], specs: list[JobSpec], user: str) -> list[SubmitResult]:
        """Run the tasks of these dead letters again and remove the dead letters."""
        replay = partial(on_replay_dead_letters, numbers=numbers, specs=specs, user=user)
        return await self.ask(replay, partial(_runs_of_specs, specs))

    async def purge_dead(self, numbers: list[int], user: str) -> None:
        await self.ask(partial(on_purge_dead_letters, numbers=numbers, user=user))

    async def stop_tasks(
        self, job_id: int, task: TaskRef | None, now: bool, reason: str = "stopped by a user", signal: int = 0
    ) -> None:
        await self.ask(partial(on_stop, job_id=job_id, task=task, now=now, reason=reason, signal=signal))

    async def update(self, job_id: int, spec: JobSpec, user: str, node: str | None = None) -> None:
        await self.ask(partial(on_update_request, job_id=job_id, spec=spec, user=user, node=node))

    async def scale(self, job_id: int, counts: dict[str, int], user: str) -> None:
        await self.ask(partial(on_scale, job_id=job_id, counts=counts, user=user))

    async def roll_back(self, job_id: int, user: str) -> None:
        await self.ask(partial(on_rollback, job_id=job_id, user=user))

    async def restart(self, job_id: int, task: TaskRef | None, user: str) -> None:
        await self.ask(partial(on_restart, job_id=job_id, task=task, user=user))

    async def move(self, job_id: int, task: TaskRef, node: str, user: str) -> None:
        await self.ask(partial(on_move, job_id=job_id, task=task, node_name=node, user=user))

    async def drain_node(self, name: str, deadline_s: float | None, user: str) -> None:
        await self.ask(partial(on_drain, name=name, deadline_s=deadline_s, user=user))

    async def undrain_node(self, name: str) -> None:
        await self.ask(partial(on_undrain, name=name))

    async def cordon_node(self, name: str, reason: str) -> None:
        await self.ask(partial(on_cordon, name=name, reason=reason))

    async def forget_node(self, name: str, user: str) -> None:
        await self.ask(partial(on_forget, name=name, user=user))

    async def release_node(self, name: str, by: str) -> None:
        """Let a cordoned or quarantined node accept work again."""
        await self.ask(partial(on_release_node, name=name, by=by))

    async def attribute_node(self, name: str, attributes: dict[str, str | None]) -> None:
        await self.ask(partial(on_attribute, name=name, attributes=attributes))

    async def label_node(self, name: str, labels: dict[str, str | None]) -> None:
        await self.ask(partial(on_label, name=name, labels=labels))

    async def apply_objects(self, drafts: list[Draft], user: str) -> list[ApplyResult]:
        return await self.ask(partial(on_apply, drafts=drafts, user=user), lambda _: keys_of_drafts(drafts))

    async def apply_file(
        self, file: MixedFile, user: str, key: str | None
    ) -> tuple[list[SubmitResult], list[ApplyResult]]:
        """Apply jobs and objects in one commit."""
        specs, generated = self.with_names(file.specs)
        while True:
            named = replace(file, specs=specs)
            apply = partial(on_apply_file, file=named, user=user, key=key, generated=generated)
            try:
                return await self.ask(apply, partial(_runs_of_file, named))
            except GeneratedNameTaken as taken:
                specs = self.with_other_names(specs, taken.positions)

    async def delete_object(self, kind: str, name: ObjectName, revision: int | None = None) -> None:
        await self.ask(partial(on_delete, kind=kind, name=name, revision=revision))

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> None:
        await self.ask(partial(on_write_external, name=name, data=data))

    async def reset_batch_job(self, name: ObjectName) -> None:
        await self.ask(partial(on_reset, name=name))

    async def set_settings(self, settings: Mapping[str, str]) -> None:
        """Change settings of the whole cluster. They survive a restart; an empty value means the default."""
        await self.ask(partial(on_set, settings=settings))

    async def note_act(self) -> None:
        """Record the present request in the audit log, though it changes nothing in the state."""
        await self.ask(on_noted)

    async def note_refused(self, refused: Sequence[RefusedRequests]) -> None:
        """Record requests that were refused in the audit log."""
        await self.ask(partial(on_refused, refused=refused))

    async def note_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Record that retention drops what the audit log has up to here."""
        await self.ask(partial(on_checkpoint, checkpoint=checkpoint))

    # ---- the watcher ----

    async def hello(self, hello: Hello) -> Welcome | Refused:
        return await self.ask(partial(on_hello, hello=hello))

    async def hello_many(self, hellos: list[Hello]) -> list[Welcome | Refused]:
        return await self.ask(lambda round: [on_hello(round, hello) for hello in hellos])

    async def inventory(self, node: int, inventory: Inventory) -> None:
        entries = len(inventory.held) + len(inventory.ended) + len(inventory.lost) + len(inventory.health)
        self.tell(partial(on_inventory, node=node, inventory=inventory), node, entries=entries)

    async def inventory_part(self, node: int, report: Report) -> None:
        """It may name attempts that this cluster never assigned, as an inventory may."""
        self.tell(partial(apply_report, node=node, report=report), node, entries=_count_entries(report))

    async def report(self, node: int, report: Report) -> None:
        self.tell(partial(on_report, node=node, report=report), node, entries=_count_entries(report))

    async def node_event(self, node: int, event: NodeEvent, reason: str) -> None:
        self.tell(partial(on_node_event, node=node, event=event, reason=reason))


def _count_entries(report: Report) -> int:
    """How many entries of a report a round records one by one. A range of tasks that succeeded is one."""
    ended = sum(len(ended.exits) or 1 for ended in report.ended)
    return ended + len(report.started) + len(report.returned) + len(report.lost) + len(report.health)


def _runs_of_specs(specs: list[JobSpec], _: State) -> Iterator[RunKey]:
    return keys_of_specs(specs)


def _runs_of_file(file: MixedFile, _: State) -> Iterator[RunKey]:
    yield from keys_of_specs(file.specs)
    yield from keys_of_drafts(file.drafts)
