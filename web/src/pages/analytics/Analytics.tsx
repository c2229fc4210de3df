/** What happened over time: throughput, waits, utilisation, failures, and who used the cluster. */
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { apiAddress } from "../../api/address";
import type { Schemas } from "../../api/client";
import { analyticsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { SeriesChart } from "../../components/SeriesChart";
import { formatCount, percent, plural } from "../../model/quantities";
import { meanOf, rangeOf } from "../../model/timeRange";
import { shortDuration } from "../../model/times";
import { PageHead } from "../../shell/Page";
import styles from "./Analytics.module.css";
import { Histogram } from "./Histogram";
import { RangeBar } from "./RangeBar";
import { Shares } from "./Shares";

type Found = Schemas["Analytics"];

export function Analytics() {
  const search = useSearch({ from: "/analytics" });
  const analytics = useQuery(analyticsQuery(search));
  const range = useMemo(() => rangeOf(search, Date.now()), [search]);
  const found = analytics.data;
  if (analytics.isError && !found) {
    return <Failure error={analytics.error} retry={() => void analytics.refetch()} />;
  }
  const csv = {
    namespace: search.namespace ?? "*",
    start: range.start,
    ...(range.stop ? { stop: range.stop } : {}),
    format: "csv",
  };
  return (
    <>
      <PageHead title="Analytics">
        <a href={apiAddress("/analytics", csv)} download="analytics.csv">
          CSV
        </a>
      </PageHead>
      <RangeBar range={range} namespaces={(found?.namespaces ?? []).map((share) => share.key)} />
      {!found ? (
        <Loading />
      ) : (
        <div className={styles.page} data-old={analytics.isPlaceholderData || undefined}>
          <Summary found={found} />
          <Cluster found={found} />
          {found.jobs === 0 ? (
            <Panel title="Jobs">
              <Empty title="No job ended in this time" command="shunter jobs --state running">
                Jobs are counted when they end.
              </Empty>
            </Panel>
          ) : (
            <Jobs found={found} />
          )}
        </div>
      )}
    </>
  );
}

function Summary({ found }: { found: Found }) {
  const failed = sum(found.failed);
  return (
    <p className="muted">
      {plural(found.jobs, "job")} from <Time at={found.start} /> to <Time at={found.stop} />,{" "}
      {percent(failed, found.jobs)} failed, {plural(found.deadlines_missed, "deadline")} missed; each bar is{" "}
      {shortDuration(found.step_s)}.
      {found.partial && " Only the newest jobs are counted, because there were more than one answer looks at."}
      {found.rollups_from && (
        <>
          {" "}
          The leader has added up what happens since <Time at={found.rollups_from} />.
        </>
      )}
    </p>
  );
}

const SHARES: [string, keyof NonNullable<Found["cluster"]>][] = [
  ["cpu reserved", "cpu"],
  ["cpu used", "busy"],
  ["memory reserved", "memory"],
  ["cpu stranded (free while tasks wait)", "stranded"],
];

function Cluster({ found }: { found: Found }) {
  const { cluster } = found;
  if (!cluster) return null;
  const share = (value: number) => percent(value, 1);
  const at = { start: found.start, stepS: found.step_s };
  return (
    <Panel title="Utilisation of the cluster">
      <div className={styles.charts}>
        {SHARES.map(([label, name]) => (
          <SeriesChart
            key={name}
            {...at}
            label={label}
            values={cluster[name]}
            format={share}
            summary={mean(cluster[name], share)}
            max={1}
          />
        ))}
        {(["running", "waiting"] as const).map((name) => (
          <SeriesChart
            key={name}
            {...at}
            label={`tasks ${name}`}
            values={cluster[name]}
            format={(value) => formatCount(Math.round(value))}
            summary={mean(cluster[name], (value) => formatCount(Math.round(value)))}
          />
        ))}
      </div>
    </Panel>
  );
}

function Jobs({ found }: { found: Found }) {
  const at = { start: found.start, stepS: found.step_s };
  const counts: [string, number[]][] = [
    ["jobs succeeded", found.succeeded],
    ["jobs failed", found.failed],
    ["tasks ended", found.tasks],
    ["deadlines missed", found.deadlines ?? []],
  ];
  const times: [string, (number | null)[], number | null][] = [
    ["wait, median", found.wait_p50_s, found.wait.p50],
    ["wait, 95th percentile", found.wait_p95_s, found.wait.p95],
    ["run time, median", found.run_p50_s, found.run.p50],
    ["run time, 95th percentile", found.run_p95_s, found.run.p95],
  ];
  return (
    <>
      <Panel title="Jobs over time">
        <div className={styles.charts}>
          {counts.map(([label, values]) => (
            <SeriesChart
              key={label}
              {...at}
              label={label}
              values={values}
              format={formatCount}
              summary={formatCount(sum(values))}
            />
          ))}
          {times.map(([label, values, total]) => (
            <SeriesChart
              key={label}
              {...at}
              label={label}
              values={values}
              format={shortDuration}
              summary={total === null ? "–" : shortDuration(total)}
            />
          ))}
        </div>
      </Panel>
      <div className={styles.pair}>
        <Histogram title="From submit to start" distribution={found.wait} />
        <Histogram title="From start to end" distribution={found.run} />
      </div>
      <div className={styles.pair}>
        <Shares title="Failures by reason" word="Reason" shares={found.failures} none="No job failed" />
        <Shares
          title="Failures by node"
          word="Node"
          shares={found.nodes ?? []}
          none="No task of a failed job failed on a node"
          columns={[["Failed attempts", "tasks"]]}
          linkOf={(name) => (
            <Link to="/nodes/$name/$tab" params={{ name, tab: "tasks" }}>
              {name}
            </Link>
          )}
        />
        <Shares title="By user" word="User" shares={found.users} none="None" />
        <Shares title="By namespace" word="Namespace" shares={found.namespaces} none="None" />
      </div>
    </>
  );
}

function mean(values: readonly (number | null)[], format: (value: number) => string): string {
  const found = meanOf(values);
  return found === null ? "–" : `mean ${format(found)}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
