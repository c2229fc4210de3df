/** The page of one run of a job. The last word of the address says which part of it is open. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { JobView } from "../../api/client";
import { ApiError } from "../../api/problems";
import { type JobKey, jobQuery } from "../../api/queries";
import { Elapsed, Time } from "../../components/Clock";
import { Empty, Failure, Loading } from "../../components/Notice";
import { StateMark } from "../../components/StateMark";
import { Tabs } from "../../components/Tabs";
import { referenceOf } from "../../model/attention";
import { formatCount } from "../../model/quantities";
import { isDone } from "../../model/states";
import { PageHead } from "../../shell/Page";
import styles from "./Job.module.css";
import { JobActions } from "./JobActions";
import { TasksTab } from "./tasks/TasksTab";
import { WhyPanel } from "./WhyPanel";

const LogsTab = lazy(() => import("./logs/LogsTab").then((module) => ({ default: module.LogsTab })));
const TimelineTab = lazy(() => import("./timeline/TimelineTab").then((module) => ({ default: module.TimelineTab })));
const ManifestTab = lazy(() => import("./manifest/ManifestTab").then((module) => ({ default: module.ManifestTab })));
const EventsTab = lazy(() => import("./EventsTab").then((module) => ({ default: module.EventsTab })));
const UsageTab = lazy(() => import("./UsageTab").then((module) => ({ default: module.UsageTab })));
const GraphTab = lazy(() => import("./graph/GraphTab").then((module) => ({ default: module.GraphTab })));
const RunsTab = lazy(() => import("./RunsTab").then((module) => ({ default: module.RunsTab })));
const DetailsTab = lazy(() => import("./DetailsTab").then((module) => ({ default: module.DetailsTab })));

const TABS = [
  { id: "tasks", label: "Tasks" },
  { id: "timeline", label: "Timeline" },
  { id: "logs", label: "Logs" },
  { id: "events", label: "Events" },
  { id: "usage", label: "Usage" },
  { id: "graph", label: "Graph" },
  { id: "runs", label: "Runs" },
  { id: "details", label: "Details" },
  { id: "manifest", label: "Manifest" },
] as const;

export function Job() {
  const { namespace, job, tab } = useParams({ from: "/jobs/$namespace/$job/$tab" });
  const key = { namespace, job };
  const view = useQuery(jobQuery(key));
  if (view.isError && !view.data) return <JobFailure error={view.error} name={job} retry={() => void view.refetch()} />;
  if (!view.data) return <Loading />;
  return (
    <>
      <PageHead title={referenceOf(view.data)} mark={<JobState view={view.data} />}>
        <JobActions view={view.data} />
      </PageHead>
      <JobFacts view={view.data} />
      {hasWaiting(view.data) && <WhyPanel view={view.data} />}
      <Tabs label="Parts of the job" tabs={TABS} to="/jobs/$namespace/$job/$tab" params={{ namespace, job, tab }} />
      <Suspense fallback={<Loading />}>
        <Part tab={tab} jobKey={key} view={view.data} />
      </Suspense>
    </>
  );
}

function Part({ tab, jobKey, view }: { tab: string; jobKey: JobKey; view: JobView }) {
  switch (tab) {
    case "timeline":
      return <TimelineTab jobKey={jobKey} />;
    case "manifest":
      return <ManifestTab jobKey={jobKey} />;
    case "logs":
      return <LogsTab jobKey={jobKey} view={view} />;
    case "events":
      return <EventsTab view={view} />;
    case "usage":
      return <UsageTab jobKey={jobKey} view={view} />;
    case "graph":
      return <GraphTab view={view} />;
    case "runs":
      return <RunsTab jobKey={jobKey} />;
    case "details":
      return <DetailsTab view={view} />;
    default:
      return <TasksTab jobKey={jobKey} view={view} />;
  }
}

function JobState({ view }: { view: JobView }) {
  const state = view.terms?.held && view.state === "pending" ? "held" : view.state;
  const status = view.update && !isDone(view.state) ? view.update.status : null;
  const ended = (view.counts.succeeded ?? 0) + (view.counts.failed ?? 0) + (view.counts.cancelled ?? 0);
  return (
    <span className={styles.state}>
      <StateMark state={state} />
      {status && <StateMark state={status} />}
      <span className="muted">
        {view.update
          ? `${view.update.healthy} of ${view.update.wanted} healthy`
          : `${formatCount(ended)} of ${formatCount(view.count)} tasks ended`}
      </span>
    </span>
  );
}

function JobFacts({ view }: { view: JobView }) {
  return (
    <p className={styles.facts}>
      <span>
        {view.type} in {view.namespace}
      </span>
      <span>by {view.user}</span>
      <span>
        submitted <Time at={view.submitted_at} />
      </span>
      {view.started_at && (
        <span>
          {view.ended_at ? "took" : "runs for"} <Elapsed start={view.started_at} stop={view.ended_at ?? null} />
        </span>
      )}
      {view.reason && <span className={styles.reason}>{view.reason}</span>}
    </p>
  );
}

function hasWaiting(view: JobView): boolean {
  return !isDone(view.state) && (view.counts.queued ?? 0) + (view.counts.waiting ?? 0) > 0;
}

function JobFailure({ error, name, retry }: { error: unknown; name: string; retry: () => void }) {
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Empty title={`There is no job ${name}`} command="shunter jobs --all-namespaces">
        {error.message}
      </Empty>
    );
  }
  return <Failure error={error} retry={retry} />;
}
