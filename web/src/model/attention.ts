/** What needs attention first on the overview. Pure. */
import type { JobView } from "../api/client";
import type { NodeTile } from "./nodeView";
import { secondsBetween, shortDuration } from "./times";

export interface Concern {
  key: string;
  state: string;
  text: string;
  detail: string;
  job?: { namespace: string; job: string };
  node?: string;
}

const FAILED_RECENTLY_S = 24 * 3600;
const WAITS_LONG_S = 30;
const SHOWN_MAX = 12;

interface Seen {
  failed: readonly JobView[];
  waiting: readonly JobView[];
  nodes: readonly NodeTile[];
  nowMs: number;
}

/** Nodes that are down, then services in trouble and failed jobs, then jobs that wait long; newest first. */
export function findConcerns({ failed, waiting, nodes, nowMs }: Seen): { concerns: Concern[]; left: number } {
  const found = [
    ...nodes.filter((node) => ["down", "suspect", "quarantined"].includes(node.state)).map(nodeConcern),
    ...failed
      .filter((job) => secondsBetween(job.ended_at ?? job.submitted_at, nowMs) < FAILED_RECENTLY_S)
      .map(failedConcern),
    ...waiting
      .filter((job) => secondsBetween(job.submitted_at, nowMs) >= WAITS_LONG_S)
      .map((job) => waitingConcern(job, nowMs)),
  ];
  return { concerns: found.slice(0, SHOWN_MAX), left: Math.max(0, found.length - SHOWN_MAX) };
}

function nodeConcern(node: NodeTile): Concern {
  return {
    key: `node ${node.name}`,
    state: node.state,
    text: `${node.name} is ${node.state}`,
    detail: node.reason,
    node: node.name,
  };
}

function failedConcern(job: JobView): Concern {
  return { ...jobConcern(job), state: "failed", text: `${referenceOf(job)} failed`, detail: job.reason ?? "" };
}

function waitingConcern(job: JobView, nowMs: number): Concern {
  const waited = shortDuration(secondsBetween(job.submitted_at, nowMs));
  const waitsFor = (job.terms?.waits_for ?? []).join("; ");
  const detail = job.reason ?? (job.terms?.held ? "it is held" : waitsFor && `for ${waitsFor}`);
  return { ...jobConcern(job), state: "pending", text: `${referenceOf(job)} waits for ${waited}`, detail };
}

function jobConcern(job: JobView): Pick<Concern, "key" | "job"> {
  return { key: `job ${job.id}`, job: { namespace: job.namespace, job: referenceOf(job) } };
}

/** `render@3`: the reference of a run that stays the same when a newer run starts. */
export function referenceOf(job: { name: string; run: number }): string {
  return `${job.name}@${job.run}`;
}
