/** What happened over time: throughput, waiting and running times, failures, and who used the cluster. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { apiAddress } from "../../api/address";
import type { Schemas } from "../../api/client";
import { analyticsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { Sparkline } from "../../components/Sparkline";
import { formatCount, plural } from "../../model/quantities";
import { shortDuration } from "../../model/times";
import { PageHead } from "../../shell/Page";
import styles from "./Analytics.module.css";
import { Histogram } from "./Histogram";

type Found = Schemas["Analytics"];

const WINDOWS: [string, number][] = [
  ["last hour", 1],
  ["last 24 hours", 24],
  ["last 7 days", 168],
];
const HOUR_MS = 3_600_000;

export function Analytics() {
  const [hours, setHours] = useState(24);
  const analytics = useQuery(analyticsQuery(hours));
  const start = new Date(Date.now() - hours * HOUR_MS).toISOString();
  if (analytics.isError && !analytics.data)
    return <Failure error={analytics.error} retry={() => void analytics.refetch()} />;
  return (
    <>
      <PageHead title="Analytics">
        <label>
          Jobs that ended in the{" "}
          <select value={hours} onChange={(event) => setHours(Number(event.target.value))}>
            {WINDOWS.map(([label, value]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <a href={apiAddress("/analytics", { namespace: "*", start, format: "csv" })} download="analytics.csv">
          CSV
        </a>
      </PageHead>
      {!analytics.data ? (
        <Loading />
      ) : analytics.data.jobs === 0 ? (
        <Empty title="No job ended in this time" command="shunter jobs --state running" />
      ) : (
        <Charts found={analytics.data} />
      )}
    </>
  );
}

function Charts({ found }: { found: Found }) {
  return (
    <div className={styles.page}>
      <p className="muted">
        {plural(found.jobs, "job")} from <Time at={found.start} /> to <Time at={found.stop} />; each point is{" "}
        {shortDuration(found.step_s)}; {plural(found.deadlines_missed, "deadline")} missed
        {found.partial && "; only the newest jobs are counted, because there were more than one answer looks at"}
      </p>
      <Panel title="Over time">
        <div className={styles.charts}>
          <Sparkline label="jobs succeeded" values={found.succeeded} format={formatCount} />
          <Sparkline label="jobs failed" values={found.failed} format={formatCount} />
          <Sparkline label="tasks ended" values={found.tasks} format={formatCount} />
          <Sparkline label="wait, median" values={found.wait_p50_s} format={shortDuration} />
          <Sparkline label="wait, 95th percentile" values={found.wait_p95_s} format={shortDuration} />
          <Sparkline label="run time, 95th percentile" values={found.run_p95_s} format={shortDuration} />
        </div>
      </Panel>
      <div className={styles.pair}>
        <Histogram title="From submit to start" distribution={found.wait} />
        <Histogram title="From start to end" distribution={found.run} />
      </div>
      <div className={styles.pair}>
        <Shares title="Failures by reason" word="Reason" shares={found.failures} />
        <Shares title="By user" word="User" shares={found.users} />
        <Shares title="By namespace" word="Namespace" shares={found.namespaces} />
      </div>
    </div>
  );
}

function Shares({ title, word, shares }: { title: string; word: string; shares: Found["users"] }) {
  return (
    <Panel title={title} isFlush>
      {shares.length === 0 ? (
        <Empty title="None" />
      ) : (
        <table>
          <thead>
            <tr>
              <th>{word}</th>
              <th data-align="end">Jobs</th>
              <th data-align="end">Tasks</th>
              <th data-align="end">Failed</th>
            </tr>
          </thead>
          <tbody>
            {shares.map((share) => (
              <tr key={share.key}>
                <td className={styles.key} title={share.key}>
                  {share.key}
                </td>
                <td data-align="end">{formatCount(share.jobs)}</td>
                <td data-align="end">{formatCount(share.tasks)}</td>
                <td data-align="end">{formatCount(share.failed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
