/** Every read of the pages: what it asks for and under which key it is stored. `model/liveKeys` knows these keys. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { Window } from "../model/heatCells";
import { type JobFilter, parseFilter } from "../model/jobFilter";
import { readNodeMap } from "../model/nodeView";
import { type AnalyticsSearch, rangeOf, stepsOf } from "../model/timeRange";
import { body, client, type Schemas } from "./client";

export const JOBS_PAGE = 200;
export const TASKS_PAGE = 500;
export const NODE_TASKS_PAGE = 200;
const EVENTS_PAGE = 200;
const CELLS_MAX = 10_000;
const ALL = "*";

export interface JobKey {
  namespace: string;
  job: string;
}

export const clusterQuery = queryOptions({
  queryKey: ["cluster"],
  queryFn: () => body(client.GET("/api/v1/cluster")),
});

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => body(client.GET("/api/v1/me")),
  staleTime: Number.POSITIVE_INFINITY,
});

export const policiesQuery = queryOptions({
  queryKey: ["policies"],
  queryFn: () => body(client.GET("/api/v1/policies")),
});

export const queuesQuery = queryOptions({
  queryKey: ["queues"],
  queryFn: () => body(client.GET("/api/v1/queues")),
});

export function jobsQuery(filterText: string, after: string | undefined, limit: number = JOBS_PAGE) {
  return queryOptions({
    queryKey: ["jobs", filterText, after, limit],
    queryFn: () => body(client.GET("/api/v1/jobs", { params: { query: jobsParameters(filterText, after, limit) } })),
    placeholderData: keepPreviousData,
  });
}

function jobsParameters(filterText: string, after: string | undefined, limit: number) {
  const filter: JobFilter = parseFilter(filterText);
  return {
    namespace: filter.namespace,
    state: filter.states as "pending"[],
    label: filter.labels,
    limit,
    ...(after ? { after } : {}),
    ...(filter.text ? { q: filter.text } : {}),
    ...(filter.queue ? { queue: filter.queue } : {}),
    ...(filter.user ? { user: filter.user } : {}),
    ...(filter.type ? { type: filter.type as "batch" } : {}),
  };
}

export function jobQuery({ namespace, job }: JobKey) {
  return queryOptions({
    queryKey: ["job", namespace, job, "view"],
    queryFn: () => body(client.GET("/api/v1/jobs/{job}", { params: { path: { job }, query: { namespace } } })),
  });
}

export function whyQuery({ namespace, job }: JobKey) {
  return queryOptions({
    queryKey: ["job", namespace, job, "why"],
    queryFn: () => body(client.GET("/api/v1/jobs/{job}/why", { params: { path: { job }, query: { namespace } } })),
  });
}

export function manifestQuery({ namespace, job }: JobKey, version: number | undefined) {
  return queryOptions({
    queryKey: ["job", namespace, job, "manifest", version],
    queryFn: () =>
      body(
        client.GET("/api/v1/jobs/{job}/manifest", {
          params: { path: { job }, query: { namespace, ...(version === undefined ? {} : { version }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function runsQuery({ namespace, job }: JobKey) {
  return queryOptions({
    queryKey: ["job", namespace, job, "runs"],
    queryFn: () =>
      body(client.GET("/api/v1/jobs/{job}/runs", { params: { path: { job }, query: { namespace, limit: 50 } } })),
  });
}

export function tasksQuery({ namespace, job }: JobKey, states: string[], limit: number = TASKS_PAGE) {
  return infiniteQueryOptions({
    queryKey: ["job", namespace, job, "tasks", states, limit],
    queryFn: ({ pageParam }) =>
      body(
        client.GET("/api/v1/jobs/{job}/tasks", {
          params: {
            path: { job },
            query: { namespace, limit, state: states as "queued"[], ...(pageParam ? { after: pageParam } : {}) },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
}

/** `window`: positions in the group; null for all of them. */
export function taskMapQuery(
  { namespace, job }: JobKey,
  group: string | undefined,
  window: Window | null,
  cells: number,
) {
  return queryOptions({
    queryKey: ["job", namespace, job, "map", group, window, cells],
    queryFn: () =>
      body(
        client.GET("/api/v1/jobs/{job}/task-map", {
          params: {
            path: { job },
            query: {
              namespace,
              cells: Math.min(cells, CELLS_MAX),
              ...(group ? { group } : {}),
              ...(window ? { first: window.from, last: window.to - 1 } : {}),
            },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

const STEPS = 240;
const BARS = 1000;

/** Every attempt is looked at, so a long timeline is read again only so often. */
export function timelineQuery({ namespace, job }: JobKey) {
  return queryOptions({
    queryKey: ["timeline", namespace, job],
    queryFn: () =>
      body(
        client.GET("/api/v1/jobs/{job}/timeline", {
          params: { path: { job }, query: { namespace, steps: STEPS, limit: BARS } },
        }),
      ),
    refetchInterval: ({ state }) => (isShortAndRuns(state.data) ? 2000 : 10_000),
  });
}

function isShortAndRuns(timeline: Schemas["Timeline"] | undefined): boolean {
  return (timeline?.total ?? 0) <= BARS && (timeline?.ended_ms ?? []).some((each) => each === null);
}

export function attemptsQuery({ namespace, job }: JobKey, index: number, group: string) {
  return queryOptions({
    queryKey: ["job", namespace, job, "attempts", index, group],
    queryFn: () =>
      body(
        client.GET("/api/v1/jobs/{job}/tasks/{index}/attempts", {
          params: { path: { job, index }, query: { namespace, group } },
        }),
      ),
  });
}

export function taskMetricsQuery({ namespace, job }: JobKey, index: number, group: string) {
  return queryOptions({
    queryKey: ["job", namespace, job, "metrics", index, group],
    queryFn: () =>
      body(
        client.GET("/api/v1/jobs/{job}/tasks/{index}/metrics", {
          params: { path: { job, index }, query: { namespace, group } },
        }),
      ),
    refetchInterval: 10_000,
  });
}

export function eventsQuery(filter: { namespace?: string; job?: string }) {
  return queryOptions({
    queryKey: ["events", filter],
    queryFn: async () =>
      (await body(
        client.GET("/api/v1/events", { params: { query: { ...filter, order: "newest", limit: EVENTS_PAGE } } }),
      )) as Schemas["EventPage"],
    placeholderData: keepPreviousData,
  });
}

const MANY_NODES = 500;

/** All nodes as columns: small enough to read often. `groupBy`: `datacenter`, or the key of a label. */
export function nodeMapQuery(groupBy: string) {
  return queryOptions({
    queryKey: ["node-map", groupBy],
    queryFn: async () =>
      readNodeMap(await body(client.GET("/api/v1/node-map", { params: { query: { group_by: groupBy } } }))),
    refetchInterval: (query) => ((query.state.data?.length ?? 0) > MANY_NODES ? 10_000 : 2000),
    placeholderData: keepPreviousData,
  });
}

export function nodeQuery(name: string) {
  return queryOptions({
    queryKey: ["node", name, "view"],
    queryFn: () => body(client.GET("/api/v1/nodes/{name}", { params: { path: { name } } })),
    refetchInterval: 5000,
  });
}

export function nodeStatsQuery(name: string) {
  return queryOptions({
    queryKey: ["node", name, "stats"],
    queryFn: () => body(client.GET("/api/v1/nodes/{name}/stats", { params: { path: { name } } })),
    refetchInterval: 5000,
  });
}

/** All tasks that are assigned to the node, run or stop there, as the manager knows. */
export function nodeTasksQuery(name: string) {
  return infiniteQueryOptions({
    queryKey: ["node", name, "tasks"],
    queryFn: ({ pageParam }) =>
      body(
        client.GET("/api/v1/nodes/{name}/tasks", {
          params: { path: { name }, query: { limit: NODE_TASKS_PAGE, ...(pageParam ? { after: pageParam } : {}) } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
    refetchInterval: 5000,
  });
}

export function nodeMetricsQuery(name: string) {
  return queryOptions({
    queryKey: ["node", name, "metrics"],
    queryFn: () => body(client.GET("/api/v1/nodes/{name}/metrics", { params: { path: { name } } })),
    refetchInterval: 10_000,
  });
}

const OBJECTS = { group: "batchjob.gcr.io", version: "v1alpha1" } as const;

/** All Testbeds, BatchJobs and Schedulings: they refer to each other. */
export const objectsQuery = queryOptions({
  queryKey: ["objects"],
  queryFn: async () =>
    (await body(
      client.GET("/api/v1/apis/{group}/{version}/objects", { params: { path: OBJECTS } }),
    )) as Schemas["ObjectList"],
});

export const pastSchedulingsQuery = queryOptions({
  queryKey: ["objects", "past"],
  queryFn: () => body(client.GET("/api/v1/schedulings/past", { params: { query: { namespace: ALL, limit: 50 } } })),
});

const DECISIONS = 2000;

/** The newest decisions as columns. */
export const flightTimelineQuery = queryOptions({
  queryKey: ["flight"],
  queryFn: () => body(client.GET("/api/v1/flight/timeline", { params: { query: { limit: DECISIONS } } })),
  refetchInterval: 5000,
});

/** A recorded decision never changes. */
export function decisionQuery(id: string) {
  return queryOptions({
    queryKey: ["decision", id],
    queryFn: () => body(client.GET("/api/v1/flight/decisions/{decision}", { params: { path: { decision: id } } })),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** Of the time range of the page. */
export function analyticsQuery(search: AnalyticsSearch) {
  return queryOptions({
    queryKey: ["analytics", search],
    queryFn: async () => {
      const range = rangeOf(search, Date.now());
      const { start, stop } = range;
      const steps = stepsOf(range, Date.now());
      const query = { namespace: search.namespace ?? ALL, start, steps, ...(stop ? { stop } : {}) };
      return (await body(client.GET("/api/v1/analytics", { params: { query } }))) as Schemas["Analytics"];
    },
    refetchInterval: search.to ? false : 15_000,
    placeholderData: keepPreviousData,
  });
}

/** Jobs that ended in a window; without its end, until now. */
export function analyticsBetween(start: string, stop: string | null) {
  return queryOptions({
    queryKey: ["analytics", start, stop],
    queryFn: async () =>
      (await body(
        client.GET("/api/v1/analytics", {
          params: { query: { namespace: ALL, start, steps: 1, ...(stop ? { stop } : {}) } },
        }),
      )) as Schemas["Analytics"],
    refetchInterval: stop ? false : 10_000,
    placeholderData: keepPreviousData,
  });
}

const ACCESS_PAGE = 100;

/** Reads a list of the API page by page. */
function pages<T extends { next: string | null }>(
  queryKey: readonly unknown[],
  read: (query: { limit: number; after?: string }) => Promise<T>,
) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam }) => read({ limit: ACCESS_PAGE, ...(pageParam ? { after: pageParam } : {}) }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
}

export const usersQuery = pages(["users"], (query) => body(client.GET("/api/v1/users", { params: { query } })));

export const keysQuery = pages(["keys"], (query) => body(client.GET("/api/v1/keys", { params: { query } })));

export const tenantsQuery = pages(["tenants"], (query) => body(client.GET("/api/v1/tenants", { params: { query } })));

export function tenantQuery(tenant: string) {
  return queryOptions({
    queryKey: ["tenants", tenant],
    queryFn: () => body(client.GET("/api/v1/tenants/{tenant}", { params: { path: { tenant } } })),
    refetchInterval: 5000,
  });
}

export function secretsQuery(namespace: string) {
  return pages(["secrets", namespace], (query) =>
    body(client.GET("/api/v1/secrets", { params: { query: { ...query, namespace } } })),
  );
}

export function auditQuery({ user, operation }: { user?: string | undefined; operation?: string | undefined }) {
  const filter = { ...(user ? { user } : {}), ...(operation ? { operation } : {}) };
  return pages(["audit", filter], (query) =>
    body(client.GET("/api/v1/audit", { params: { query: { ...query, ...filter } } })),
  );
}

export const jobCountsQuery = queryOptions({
  queryKey: ["jobs", "counts"],
  queryFn: () => body(client.GET("/api/v1/job-counts", { params: { query: { namespace: ALL, group_by: "state" } } })),
});

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: () => body(client.GET("/api/v1/templates", { params: { query: { namespace: ALL, limit: 500 } } })),
});

export const deadQuery = queryOptions({
  queryKey: ["dead"],
  queryFn: () => body(client.GET("/api/v1/dead", { params: { query: { namespace: ALL, limit: 200 } } })),
});
