/** The addresses of the pages. Each page is a chunk that the browser loads when it is first opened. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { appBase } from "./api/address";
import { Empty, Failure, Loading } from "./components/Notice";
import type { AnalyticsSearch } from "./model/timeRange";
import { Overview } from "./pages/overview/Overview";
import { Shell } from "./shell/Shell";
import { shouldReload } from "./shell/version";

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no such page">Choose one from the navigation.</Empty>,
  beforeLoad: ({ location: target, cause }) => {
    if (cause !== "preload" && shouldReload()) window.location.assign(appBase.replace(/\/$/, "") + target.href);
  },
});

const overview = createRoute({ getParentRoute: () => rootRoute, path: "/", component: Overview });

export interface JobsSearch {
  filter?: string | undefined;
  after?: string | undefined;
}

const jobs = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs",
  validateSearch: (search): JobsSearch => ({ filter: text(search.filter), after: text(search.after) }),
  component: lazyRouteComponent(() => import("./pages/jobs/Jobs"), "Jobs"),
});

export interface JobSearch {
  task?: string | undefined;
  state?: string | undefined;
}

const job = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$namespace/$job/$tab",
  validateSearch: (search): JobSearch => ({ task: text(search.task), state: text(search.state) }),
  component: lazyRouteComponent(() => import("./pages/job/Job"), "Job"),
});

const jobStart = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$namespace/$job",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/jobs/$namespace/$job/$tab", params: { ...params, tab: "tasks" }, replace: true });
  },
});

const nodes = createRoute({
  getParentRoute: () => rootRoute,
  path: "/nodes",
  validateSearch: (search): { filter?: string | undefined; view?: string | undefined } => ({
    filter: text(search.filter),
    view: text(search.view),
  }),
  component: lazyRouteComponent(() => import("./pages/nodes/Nodes"), "Nodes"),
});

const node = createRoute({
  getParentRoute: () => rootRoute,
  path: "/nodes/$name/$tab",
  component: lazyRouteComponent(() => import("./pages/nodes/Node"), "NodePage"),
});

const create = createRoute({
  getParentRoute: () => rootRoute,
  path: "/create",
  validateSearch: (search): { from?: string | undefined } => ({ from: text(search.from) }),
  component: lazyRouteComponent(() => import("./pages/create/Create"), "Create"),
});

const testbeds = createRoute({
  getParentRoute: () => rootRoute,
  path: "/testbeds",
  component: lazyRouteComponent(() => import("./pages/testbeds/Testbeds"), "Testbeds"),
});

const testbed = createRoute({
  getParentRoute: () => rootRoute,
  path: "/testbeds/$namespace/$name/$tab",
  component: lazyRouteComponent(() => import("./pages/testbeds/Testbed"), "TestbedPage"),
});

const queues = createRoute({
  getParentRoute: () => rootRoute,
  path: "/queues",
  component: lazyRouteComponent(() => import("./pages/queues/Queues"), "Queues"),
});

const access = createRoute({
  getParentRoute: () => rootRoute,
  path: "/access/$tab",
  validateSearch: (search): { user?: string | undefined; operation?: string | undefined } => ({
    user: text(search.user),
    operation: text(search.operation),
  }),
  component: lazyRouteComponent(() => import("./pages/access/Access"), "Access"),
});

const accessStart = createRoute({
  getParentRoute: () => rootRoute,
  path: "/access",
  beforeLoad: () => {
    throw redirect({ to: "/access/$tab", params: { tab: "you" }, replace: true });
  },
});

const decisions = createRoute({
  getParentRoute: () => rootRoute,
  path: "/decisions",
  validateSearch: (search): { at?: string | undefined } => ({ at: text(search.at) }),
  component: lazyRouteComponent(() => import("./pages/decisions/Decisions"), "Decisions"),
});

const analytics = createRoute({
  getParentRoute: () => rootRoute,
  path: "/analytics",
  validateSearch: (search): AnalyticsSearch => ({
    range: text(search.range),
    from: text(search.from),
    to: text(search.to),
    namespace: text(search.namespace),
  }),
  component: lazyRouteComponent(() => import("./pages/analytics/Analytics"), "Analytics"),
});

const events = createRoute({
  getParentRoute: () => rootRoute,
  path: "/events",
  component: lazyRouteComponent(() => import("./pages/events/Events"), "Events"),
});

const routeTree = rootRoute.addChildren([
  overview, jobs, job, jobStart, nodes, node, queues, create, testbeds, testbed, decisions,
  analytics, events, access, accessStart,
]); // biome-ignore format: a table

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    basepath: appBase,
    context: { queries },
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
    scrollRestoration: false,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}

/** The router reads `5` as a number. */
function text(value: unknown): string | undefined {
  return value === undefined || value === "" ? undefined : String(value);
}
