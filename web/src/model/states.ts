/** How states look: each has a glyph and a word, because colour alone never says a state. Pure tables. */

export type Look = "waiting" | "starting" | "running" | "succeeded" | "failed" | "lost" | "cancelled";

export const LOOKS: readonly Look[] = ["waiting", "starting", "running", "succeeded", "failed", "lost", "cancelled"];

const LOOK_OF: Record<string, Look> = {
  // tasks and jobs
  waiting: "waiting", queued: "waiting", pending: "waiting", held: "waiting",
  assigned: "starting", stopping: "starting", ordered: "starting",
  running: "running", succeeded: "succeeded", failed: "failed", lost: "lost",
  cancelled: "cancelled", stopped: "cancelled", returned: "waiting",
  // nodes
  ready: "succeeded", suspect: "lost", down: "failed", draining: "starting", drained: "cancelled",
  cordoned: "waiting", quarantined: "lost",
  // templates and rollouts
  scheduled: "starting", dispatchable: "waiting", paused: "cancelled",
  starting: "starting", steady: "running", updating: "starting", "rolling back": "lost", restarting: "starting",
  stalled: "failed", crashing: "failed", degraded: "lost", ended: "cancelled",
  // Testbeds, BatchJobs, Schedulings and slots
  INITIAL: "waiting", SUCCESS: "succeeded", IN_PROGRESS: "starting", RUNNING: "running", ERROR: "failed",
  FREE: "waiting", RESERVED: "starting", OCCUPIED: "running",
  ReadyState: "waiting", InQueueState: "waiting", SubmittedState: "starting", ScheduledState: "starting",
  RunningState: "running", CompletedState: "succeeded", PendingDeletion: "starting",
  FailedSubmissionState: "failed", FailedState: "failed",
  AcquireState: "waiting", ConfirmationState: "starting", SubmissionState: "starting",
  AwaitingCompletionState: "running", FinishedState: "succeeded",
}; // biome-ignore format: a table

/** An unknown state of a newer manager looks like one that was lost: `?`, with its word. */
export function lookOf(state: string): Look {
  return LOOK_OF[state] ?? "lost";
}

/** Task states as small numbers, in the order in which a summary lists them. */
export const TASK_STATES = [
  "waiting", "queued", "assigned", "running", "stopping", "succeeded", "failed", "cancelled",
] as const; // biome-ignore format: a table

export type TaskState = (typeof TASK_STATES)[number];

const JOB_DONE = new Set(["succeeded", "failed", "cancelled"]);

export function isDone(state: string): boolean {
  return JOB_DONE.has(state);
}

/** Counts by task state, as counts by look, in the order of LOOKS. */
export function countLooks(counts: Record<string, number>): Record<Look, number> {
  const found = Object.fromEntries(LOOKS.map((look) => [look, 0])) as Record<Look, number>;
  for (const [state, count] of Object.entries(counts)) found[lookOf(state)] += count;
  return found;
}

/** The share of tasks that have ended, 0 to 1. */
export function progressOf(counts: Record<string, number>, total: number): number {
  const ended = (counts.succeeded ?? 0) + (counts.failed ?? 0) + (counts.cancelled ?? 0);
  return total === 0 ? 0 : ended / total;
}

/** What a node's state and its eligibility say together. */
export function nodeState(node: { state: string; eligible: boolean; reason?: string | null }): string {
  if (node.state !== "ready" || node.eligible) return node.state;
  return node.reason?.startsWith("quarantine") ? "quarantined" : "cordoned";
}
