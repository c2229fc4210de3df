/** A Scheduling while it is built: which BatchJob gets which slots, or in which order jobs are queued. Pure. */

export interface JobName {
  name: string;
  namespace: string;
}

export type Mode = "strict" | "relaxed" | "queue";

export interface Draft {
  mode: Mode;
  /** Slot to job, by `namespace/name`. */
  slots: ReadonlyMap<number, string>;
  /** One entry for each executor, in order. */
  queue: readonly string[];
  /** The jobs of slots in the order in which they were first placed: strict mode starts them in it. */
  order: readonly string[];
}

export const EMPTY_DRAFT: Draft = { mode: "strict", slots: new Map(), queue: [], order: [] };

export function keyOf({ name, namespace }: JobName): string {
  return `${namespace}/${name}`;
}

export function assign(draft: Draft, slot: number, job: string | null): Draft {
  const slots = new Map(draft.slots);
  if (job === null) slots.delete(slot);
  else slots.set(slot, job);
  const used = new Set(slots.values());
  const order = draft.order.filter((each) => used.has(each));
  return { ...draft, slots, order: job === null || order.includes(job) ? order : [...order, job] };
}

export function enqueue(draft: Draft, job: string): Draft {
  return { ...draft, queue: [...draft.queue, job] };
}

export function removeAt(draft: Draft, position: number): Draft {
  return { ...draft, queue: draft.queue.filter((_, index) => index !== position) };
}

/** Moves an entry of the queue up (-1) or down (1). */
export function moveBy(draft: Draft, position: number, step: number): Draft {
  const target = position + step;
  const queue = [...draft.queue];
  const [entry] = queue.splice(position, 1);
  if (entry === undefined || target < 0 || target > queue.length) return draft;
  queue.splice(target, 0, entry);
  return { ...draft, queue };
}

export function isEmpty(draft: Draft): boolean {
  return draft.mode === "queue" ? draft.queue.length === 0 : draft.slots.size === 0;
}

/** The manifest of the Scheduling. */
export function schedulingOf(draft: Draft, name: string, testbed: JobName): Record<string, unknown> {
  const plan =
    draft.mode === "queue"
      ? { queueBased: draft.queue.map(nameOf) }
      : {
          slotBased: {
            mode: draft.mode,
            jobs: draft.order.map((job) => ({ name: nameOf(job), slotIds: slotsOf(draft, job) })),
          },
        };
  return {
    apiVersion: "batchjob.gcr.io/v1alpha1",
    kind: "Scheduling",
    metadata: { name, namespace: testbed.namespace },
    spec: { ...plan, testbed: { name: testbed.name, namespace: testbed.namespace } },
  };
}

export function slotsOf(draft: Draft, job: string): number[] {
  return [...draft.slots]
    .filter(([, each]) => each === job)
    .map(([slot]) => slot)
    .sort((a, b) => a - b);
}

function nameOf(key: string): JobName {
  const [namespace = "default", name = ""] = key.split("/");
  return { name, namespace };
}
