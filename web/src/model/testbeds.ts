/** Testbeds, BatchJobs and Schedulings as the pages show them, read from their documents. Pure. */
import type { ObjectView } from "../api/client";
import type { JobName } from "./slotBoard";

export interface Slot {
  position: number;
  nodeName: string;
  state: string;
  /** Who holds it, in words. */
  holder: string;
}

export interface SchedulingStatus {
  state: string;
  problems: string[];
  jobs: { name: string; state: string; slotIds: number[] }[];
}

type Document = Record<string, unknown>;

export function nameOf(object: ObjectView): JobName {
  return { name: String(object.metadata.name), namespace: String(object.metadata.namespace) };
}

export function ofKind(objects: readonly ObjectView[], kind: string): ObjectView[] {
  return objects.filter((object) => object.kind === kind);
}

export function stateOf(object: ObjectView): string {
  return String(object.status?.state ?? "");
}

export function slotsOfTestbed(testbed: ObjectView): Slot[] {
  return list(testbed.status?.slots).map((slot) => ({
    position: Number(slot.position),
    nodeName: String(slot.nodeName),
    state: String(slot.state),
    holder: holderOf(slot),
  }));
}

function holderOf(slot: Document): string {
  const named = (slot.heldBy ?? slot.reservedFor) as Document | undefined;
  const holder = named && typeof named === "object" ? (named.name as Document | string | undefined) : undefined;
  if (typeof holder === "string") return holder;
  return holder ? String(holder.name) : slot.state === "OCCUPIED" ? String(slot.podName ?? "") : "";
}

export function schedulingsOf(objects: readonly ObjectView[], testbed: JobName): ObjectView[] {
  return ofKind(objects, "Scheduling").filter((object) => {
    const used = (object.spec.testbed ?? object.spec.slots) as JobName | undefined;
    return used?.name === testbed.name && (used.namespace ?? nameOf(object).namespace) === testbed.namespace;
  });
}

export function statusOf(scheduling: ObjectView): SchedulingStatus {
  return {
    state: stateOf(scheduling),
    problems: (scheduling.status?.problems as string[] | undefined) ?? [],
    jobs: list(scheduling.status?.jobStates).map((job) => ({
      name: (job.name as JobName).name,
      state: String(job.state),
      slotIds: (job.slotIds as number[] | undefined) ?? [],
    })),
  };
}

export const STAGES = ["Acquire", "Confirmation", "Submission", "AwaitingCompletion", "Completed"] as const;

/** Which stage a Scheduling is in: a position in STAGES; past the last one when it has finished, -1 when it failed. */
export function stageOf(state: string): number {
  if (state === "FailedState") return -1;
  const found = STAGES.findIndex((stage) => state === `${stage}State`);
  return state === "FinishedState" ? STAGES.length : found;
}

function list(value: unknown): Document[] {
  return Array.isArray(value) ? (value as Document[]) : [];
}
