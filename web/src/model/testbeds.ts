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
  waitsFor: string[];
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
    waitsFor: textsOf(scheduling.status?.waitsFor),
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

/** Sentences, or one of them. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  return Array.isArray(value) ? value.map(String) : [];
}

function list(value: unknown): Document[] {
  return Array.isArray(value) ? (value as Document[]) : [];
}

export interface SlotRow {
  node: string;
  slots: Slot[];
}

/** Slots by node, in the order of their numbers. */
export function rowsOfSlots(slots: readonly Slot[]): SlotRow[] {
  const rows = new Map<string, Slot[]>();
  for (const slot of slots) {
    const row = rows.get(slot.nodeName);
    if (row) row.push(slot);
    else rows.set(slot.nodeName, [slot]);
  }
  return [...rows].map(([node, row]) => ({ node, slots: row }));
}

/** How many slots are in each state, in the order of the lifecycle. */
export function countSlots(slots: readonly Slot[]): [string, number][] {
  return ["FREE", "RESERVED", "OCCUPIED", "ERROR"]
    .map((state): [string, number] => [state, slots.filter((slot) => slot.state === state).length])
    .filter(([, count]) => count > 0);
}

/** What a Testbed reserves, as its form shows it. */
export interface TestbedForm {
  name: string;
  namespace: string;
  slotsPerNode: number;
  nodeLabel: string;
  cpu: string;
  memory: string;
  sharing: string;
}

export const NEW_TESTBED: TestbedForm = {
  name: "bench", namespace: "default", slotsPerNode: 2, nodeLabel: "bench", cpu: "100m", memory: "", sharing: "exclusive",
}; // biome-ignore format: a table

export function formOf(testbed: ObjectView): TestbedForm {
  const { spec } = testbed;
  const resources = (spec.resourcesPerSlot ?? {}) as Record<string, unknown>;
  return {
    ...nameOf(testbed),
    slotsPerNode: Number(spec.slotsPerNode),
    nodeLabel: String(spec.nodeLabel),
    cpu: String(resources.cpu ?? ""),
    memory: String(resources.memory ?? ""),
    sharing: String(spec.sharing ?? "exclusive"),
  };
}

/** `before`: the Testbed that is changed; resources that the form does not show stay as they are. */
export function testbedOf(form: TestbedForm, before?: ObjectView): Document {
  const known = (before?.spec.resourcesPerSlot ?? {}) as Document;
  const given = { cpu: form.cpu, memory: form.memory };
  const resourcesPerSlot = Object.fromEntries(
    Object.entries({ ...known, ...given }).filter(([, value]) => value !== ""),
  );
  return {
    apiVersion: "batchjob.gcr.io/v1alpha1",
    kind: "Testbed",
    metadata: { name: form.name, namespace: form.namespace },
    spec: { slotsPerNode: form.slotsPerNode, nodeLabel: form.nodeLabel, resourcesPerSlot, sharing: form.sharing },
  };
}
