/** Which queries an event makes old. Pure; `api/live` asks it for each batch of events. */

export interface LiveEvent {
  id: string;
  at: string;
  type: string;
  name: string;
  namespace?: string | null;
  job?: string | null;
  node?: string | null;
  run?: number | null;
  tasks?: string | null;
  state?: string | null;
  reason?: string | null;
  exit_code?: number | null;
}

export interface Stale {
  /** First words of query keys. */
  subjects: Set<string>;
  /** `namespace/name` of jobs whose pages are old. */
  jobs: Set<string>;
  nodes: Set<string>;
}

const SUBJECTS: Record<string, string[]> = {
  job: ["jobs", "cluster"],
  tasks: ["jobs", "cluster", "nodes"],
  node: ["nodes", "cluster"],
  testbed: ["objects"],
  batchjob: ["objects"],
  scheduling: ["objects"],
  queue: ["queues"],
  template: ["templates"],
  cluster: ["cluster", "policies", "me"],
  policy: ["cluster", "policies", "me"],
  tenant: ["tenants"],
  secret: ["secrets"],
  dead: ["dead"],
};

export function staleAfter(events: readonly LiveEvent[]): Stale {
  const stale: Stale = { subjects: new Set(), jobs: new Set(), nodes: new Set() };
  for (const event of events) {
    const subject = event.type.split(".", 1)[0] ?? "";
    for (const each of SUBJECTS[subject] ?? []) stale.subjects.add(each);
    stale.subjects.add("events");
    if (event.job) stale.jobs.add(`${event.namespace ?? "default"}/${event.job}`);
    if (event.node) stale.nodes.add(event.node);
  }
  return stale;
}

/** Whether a query key is old: keys start with a subject, or with `job`, namespace and reference, or `node` and name. */
export function isStale(key: readonly unknown[], stale: Stale): boolean {
  const [subject, first, second] = key;
  if (subject === "job") return stale.jobs.has(`${first}/${String(second).split("@", 1)[0]}`);
  if (subject === "node") return stale.nodes.has(String(first));
  return stale.subjects.has(String(subject));
}
