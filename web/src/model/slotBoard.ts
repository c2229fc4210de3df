/** A Scheduling while it is built: which BatchJob gets which slots, or in which order jobs are queued. Pure. */

export interface JobName {
  name: string;
  namespace: string;
}

export type Mode = "strict" | "relaxed" | "queue";

/** A BatchJob, by `namespace/name`, with its slots. */
export interface Placed {
  job: string;
  slots: readonly number[];
}

export interface Draft {
  mode: Mode;
  /** In the order in which strict mode starts them. A slot of several jobs serves one after the other. */
  placed: readonly Placed[];
  /** One entry for each executor, in order. */
  queue: readonly string[];
}

export const EMPTY_DRAFT: Draft = { mode: "strict", placed: [], queue: [] };

export function keyOf({ name, namespace }: JobName): string {
  return `${namespace}/${name}`;
}

export function shortName(key: string): string {
  return key.split("/")[1] ?? key;
}

/** Gives a slot to a job, at the end of the order if it had none before. */
export function assign(draft: Draft, slot: number, job: string): Draft {
  if (jobsAt(draft, slot).includes(job)) return draft;
  const isNew = !draft.placed.some((each) => each.job === job);
  const placed = isNew ? [...draft.placed, { job, slots: [] }] : draft.placed;
  return {
    ...draft,
    placed: placed.map((each) => (each.job === job ? { job, slots: sorted([...each.slots, slot]) } : each)),
  };
}

/** A job without a slot leaves the order. */
export function unassign(draft: Draft, slot: number, job: string): Draft {
  const placed = draft.placed.map((each) =>
    each.job === job ? { job, slots: each.slots.filter((one) => one !== slot) } : each,
  );
  return { ...draft, placed: placed.filter((each) => each.slots.length > 0) };
}

/** The jobs of a slot, in the order in which they get it. */
export function jobsAt(draft: Draft, slot: number): string[] {
  return draft.placed.filter((each) => each.slots.includes(slot)).map((each) => each.job);
}

/** Adds an executor to the queue, at its end or before a position. */
export function enqueue(draft: Draft, job: string, position: number = draft.queue.length): Draft {
  return { ...draft, queue: [...draft.queue.slice(0, position), job, ...draft.queue.slice(position)] };
}

/** Moves an entry of a list; past either end nothing moves. */
export function moved<T>(list: readonly T[], from: number, to: number): readonly T[] {
  if (from === to || list[from] === undefined || to < 0 || to >= list.length) return list;
  const rest = list.filter((_, index) => index !== from);
  return [...rest.slice(0, to), list[from] as T, ...rest.slice(to)];
}

export function without<T>(list: readonly T[], position: number): readonly T[] {
  return list.filter((_, index) => index !== position);
}

export function isEmpty(draft: Draft): boolean {
  return draft.mode === "queue" ? draft.queue.length === 0 : draft.placed.length === 0;
}

/** The manifest of the Scheduling. */
export function schedulingOf(draft: Draft, key: JobName, testbed: JobName): Record<string, unknown> {
  const plan =
    draft.mode === "queue"
      ? { queueBased: draft.queue.map(nameOf) }
      : {
          slotBased: {
            mode: draft.mode,
            jobs: draft.placed.map(({ job, slots }) => ({ name: nameOf(job), slotIds: [...slots] })),
          },
        };
  return {
    apiVersion: "batchjob.gcr.io/v1alpha1",
    kind: "Scheduling",
    metadata: { name: key.name, namespace: key.namespace },
    spec: { ...plan, testbed: { name: testbed.name, namespace: testbed.namespace } },
  };
}

interface NamedSlots {
  name: { name: string; namespace?: string };
  slotIds?: number[];
}

/** The draft that makes the Scheduling as it is, to extend it. */
export function draftOf(spec: Record<string, unknown>, namespace: string): Draft {
  const key = (name: { name: string; namespace?: string }) =>
    keyOf({ name: name.name, namespace: name.namespace ?? namespace });
  const slotBased = spec.slotBased as { mode?: Mode; jobs?: NamedSlots[] } | undefined;
  if (slotBased) {
    const placed = (slotBased.jobs ?? []).map((each) => ({ job: key(each.name), slots: sorted(each.slotIds ?? []) }));
    return { mode: slotBased.mode ?? "strict", placed, queue: [] };
  }
  const queue = (spec.queueBased ?? []) as { name: string; namespace?: string }[];
  return { mode: "queue", placed: [], queue: queue.map(key) };
}

/** The slot that an arrow key leads to: left and right by number, up and down by node. */
export function neighbour(rows: readonly (readonly number[])[], slot: number, key: string): number | null {
  const row = rows.findIndex((each) => each.includes(slot));
  const column = rows[row]?.indexOf(slot) ?? -1;
  const all = rows.flat();
  const at = all.indexOf(slot);
  if (key === "ArrowRight") return all[at + 1] ?? null;
  if (key === "ArrowLeft") return all[at - 1] ?? null;
  if (key === "Home") return all[0] ?? null;
  if (key === "End") return all.at(-1) ?? null;
  const other = rows[row + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0)];
  return other?.[Math.min(column, other.length - 1)] ?? null;
}

/** A name that no other Scheduling has. */
export function freeName(taken: readonly string[], stem = "by-hand"): string {
  if (!taken.includes(stem)) return stem;
  let number = 2;
  while (taken.includes(`${stem}-${number}`)) number += 1;
  return `${stem}-${number}`;
}

function sorted(slots: readonly number[]): number[] {
  return [...slots].sort((a, b) => a - b);
}

function nameOf(key: string): JobName {
  const [namespace = "default", name = ""] = key.split("/");
  return { name, namespace };
}
