/** Every change that pages make. Each raises ApiError with the reason of a refusal. */
import { body, client, type JobView, type PlanView, type Schemas, type SuggestionView } from "./client";
import type { JobKey } from "./queries";

const at = ({ namespace, job }: JobKey) => ({ params: { path: { job }, query: { namespace } } });

export function stopJob(key: JobKey): Promise<unknown> {
  return body(client.DELETE("/api/v1/jobs/{job}", at(key)));
}

export function holdJob(key: JobKey): Promise<JobView> {
  return body(client.POST("/api/v1/jobs/{job}/hold", at(key)));
}

export function releaseJob(key: JobKey): Promise<JobView> {
  return body(client.POST("/api/v1/jobs/{job}/release", at(key)));
}

export function retryJob({ namespace, job }: JobKey, isFailedOnly: boolean): Promise<JobView> {
  const query = isFailedOnly ? { namespace, failed: true } : { namespace };
  return body(client.POST("/api/v1/jobs/{job}/retry", { params: { path: { job }, query } }));
}

export function restartJob(key: JobKey): Promise<JobView> {
  return body(client.POST("/api/v1/jobs/{job}/restart", at(key)));
}

export function rollBackJob(key: JobKey): Promise<JobView> {
  return body(client.POST("/api/v1/jobs/{job}/rollback", at(key)));
}

export function scaleJob(key: JobKey, counts: Record<string, number>): Promise<JobView> {
  return body(client.POST("/api/v1/jobs/{job}/scale", { ...at(key), body: { counts } }));
}

export function stopTask({ namespace, job }: JobKey, index: number, group: string): Promise<unknown> {
  return body(
    client.DELETE("/api/v1/jobs/{job}/tasks/{index}", {
      params: { path: { job, index }, query: { namespace, group } },
    }),
  );
}

export function activatePolicy(name: string): Promise<unknown> {
  return body(client.PUT("/api/v1/policies/active", { body: { name } }));
}

export function cordonNode(name: string, reason: string): Promise<unknown> {
  return body(
    client.POST("/api/v1/nodes/{name}/cordon", { params: { path: { name } }, ...(reason ? { body: { reason } } : {}) }),
  );
}

export function uncordonNode(name: string): Promise<unknown> {
  return body(client.DELETE("/api/v1/nodes/{name}/cordon", { params: { path: { name } } }));
}

export function drainNode(name: string, deadline: string): Promise<unknown> {
  return body(
    client.POST("/api/v1/nodes/{name}/drain", {
      params: { path: { name } },
      ...(deadline ? { body: { deadline } } : {}),
    }),
  );
}

export function undrainNode(name: string): Promise<unknown> {
  return body(client.DELETE("/api/v1/nodes/{name}/drain", { params: { path: { name } } }));
}

export function releaseNode(name: string): Promise<unknown> {
  return body(client.DELETE("/api/v1/nodes/{name}/quarantine", { params: { path: { name } } }));
}

/** Makes a change that `why` suggested. Refused if it would not start the job any more. */
export function applySuggestion(key: JobKey, { field, before, after }: SuggestionView): Promise<JobView> {
  return body(client.POST("/api/v1/jobs/{job}/suggestions", { ...at(key), body: { field, before, after } }));
}

type Documents = Record<string, unknown>[];

/** What a submit would do now; nothing changes. */
export function planManifests(documents: Documents): Promise<PlanView> {
  const items = documents as unknown as Schemas["Job"][];
  return body(client.POST("/api/v1/plan", { body: { items } as Schemas["Plan"] }));
}

/** Jobs and objects together: all of them or none. */
export function applyManifests(documents: Documents): Promise<Schemas["AppliedPage"]> {
  const items = documents as unknown as Schemas["Job"][];
  return body(client.POST("/api/v1/apply", { body: { items } as Schemas["Manifests"] }));
}

/** A Testbed, a BatchJob or a Scheduling. */
export function deleteObject(
  plural: "testbeds" | "batchjobs" | "schedulings",
  { namespace, name }: { namespace: string; name: string },
): Promise<unknown> {
  const path = { group: "batchjob.gcr.io", version: "v1alpha1", namespace, object: name } as const;
  const base = "/api/v1/apis/{group}/{version}/namespaces/{namespace}" as const;
  return body(client.DELETE(`${base}/${plural}/{object}`, { params: { path } }));
}

/** Null takes a label away. */
export function labelNode(name: string, labels: Record<string, string | null>): Promise<unknown> {
  return body(client.PATCH("/api/v1/nodes/{name}", { params: { path: { name } }, body: { labels } }));
}

/** What another policy decides on the input of a recorded decision; nothing changes. */
export function replayDecision(decision: string, policy: string): Promise<Schemas["DecisionReplay"]> {
  return body(
    client.POST("/api/v1/flight/decisions/{decision}/replay", { params: { path: { decision } }, body: { policy } }),
  );
}

export function revokeKey(key: string): Promise<unknown> {
  return body(client.DELETE("/api/v1/keys/{key}", { params: { path: { key } } }));
}

export function pauseQueue(queue: string, paused: boolean): Promise<unknown> {
  return body(client.PATCH("/api/v1/queues/{queue}", { params: { path: { queue } }, body: { paused } }));
}

interface TemplateKey {
  namespace: string;
  name: string;
}

export function pauseTemplate({ namespace, name }: TemplateKey, paused: boolean): Promise<unknown> {
  return body(
    client.PATCH("/api/v1/templates/{template}", {
      params: { path: { template: name }, query: { namespace } },
      body: { paused },
    }),
  );
}
