/** The attempts of a job over time: how many ran at once, and a bar for each attempt. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type JobKey, timelineQuery } from "../../../api/queries";
import { Time, useNow } from "../../../components/Clock";
import { Legend } from "../../../components/Legend";
import { Empty, Failure, Loading } from "../../../components/Notice";
import { Panel } from "../../../components/Panel";
import { Sparkline } from "../../../components/Sparkline";
import { StateMark } from "../../../components/StateMark";
import { VirtualRows } from "../../../components/VirtualRows";
import { formatCount, plural } from "../../../model/quantities";
import { lookOf } from "../../../model/states";
import { type AttemptBar, attemptBars, spanOf } from "../../../model/timeline";
import { shortDuration, utcTime } from "../../../model/times";
import styles from "./Timeline.module.css";

const LEGEND = ["running", "succeeded", "failed", "lost", "cancelled"].map((look) => ({
  colour: `var(--${look})`,
  label: look,
}));

export function TimelineTab({ jobKey }: { jobKey: JobKey }) {
  const nowMs = useNow();
  const timeline = useQuery(timelineQuery(jobKey));
  const data = timeline.data;
  const bars = useMemo(() => (data ? attemptBars(data, nowMs) : []), [data, nowMs]);
  if (timeline.isError && !data) return <Failure error={timeline.error} retry={() => void timeline.refetch()} />;
  if (!data) return <Loading />;
  if (bars.length === 0) return <Empty title="No task has started yet" command={`shunter why ${data.name}`} />;
  const { startMs, spanMs } = spanOf(data, nowMs);
  const stop = new Date(startMs + spanMs).toISOString();
  return (
    <div className={styles.page}>
      <Panel title="Attempts that ran at once" actions={<span>most: {formatCount(Math.max(...data.running))}</span>}>
        <div className={styles.chart}>
          <Sparkline label="at the end" values={data.running} format={formatCount} />
        </div>
        <p className={styles.scale}>
          <Time at={data.start} />
          <span>{shortDuration(spanMs / 1000)}</span>
          <Time at={stop} />
        </p>
      </Panel>
      <Panel title="Attempts" isFlush actions={<Shown count={bars.length} total={data.total} />}>
        <div className={styles.legend}>
          <Legend items={LEGEND} />
        </div>
        <VirtualRows count={bars.length} role="list">
          {(row) => bars[row] && <AttemptRow bar={bars[row]} jobKey={jobKey} nowMs={nowMs} />}
        </VirtualRows>
      </Panel>
    </div>
  );
}

function Shown({ count, total }: { count: number; total: number }) {
  if (count === total) return <span>{plural(total, "attempt")}</span>;
  return (
    <span>
      {formatCount(count)} of {formatCount(total)} attempts: all that failed if they fit, then the longest
    </span>
  );
}

function AttemptRow({ bar, jobKey, nowMs }: { bar: AttemptBar; jobKey: JobKey; nowMs: number }) {
  const took = shortDuration(((bar.stopMs ?? nowMs) - bar.startMs) / 1000);
  const started = utcTime(new Date(bar.startMs).toISOString());
  return (
    <div role="listitem" className={styles.row}>
      <Link
        to="/jobs/$namespace/$job/$tab"
        params={{ ...jobKey, tab: "tasks" }}
        search={{ task: bar.path }}
        className={styles.name}
      >
        {bar.path}
        {bar.attempt > 1 && <span className="muted"> attempt {bar.attempt}</span>}
      </Link>
      <span className={styles.state}>
        <StateMark state={bar.state} />
      </span>
      <span className={styles.track} title={`${bar.state} on ${bar.node}, from ${started}, ${took}`}>
        <span data-look={lookOf(bar.state)} style={{ left: `${bar.left * 100}%`, width: `${bar.width * 100}%` }} />
      </span>
      <span className={styles.took}>{took}</span>
    </div>
  );
}
