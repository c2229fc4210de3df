/** Before and after: what the cluster was like under each policy, for as long as it decided. Waiting times are read when
 * somebody asks for them, which keeps the requests of the page few. */
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { analyticsBetween } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Panel } from "../../components/Panel";
import { formatCount, plural } from "../../model/quantities";
import { secondsBetween, shortDuration } from "../../model/times";
import styles from "./Decisions.module.css";

type Period = Schemas["PolicyPeriod"];

const SHOWN_MAX = 6;

export function Periods({ periods }: { periods: Period[] }) {
  const [isComparing, setComparing] = useState(false);
  const shown = periods.slice(-SHOWN_MAX).reverse();
  const analytics = useQueries({
    queries: shown.map((period, index) => ({
      ...analyticsBetween(period.start, index === 0 ? null : (shown[index - 1]?.start ?? null)),
      enabled: isComparing,
    })),
  });
  if (periods.length < 2) return null;
  return (
    <Panel
      title="Before and after: one line for each time that a policy decided"
      isFlush
      actions={
        !isComparing && (
          <button type="button" onClick={() => setComparing(true)}>
            Compare the waiting times
          </button>
        )
      }
    >
      <div className={styles.scroll}>
        <table>
          <thead>
            <tr>
              <th>Policy</th>
              <th>From</th>
              <th data-align="end">For</th>
              <th data-align="end">Decisions</th>
              <th data-align="end">Placed</th>
              <th data-align="end">On nodes</th>
              <th data-align="end">Preempted</th>
              {isComparing && (
                <>
                  <th data-align="end">Wait, median</th>
                  <th data-align="end">Wait, 95%</th>
                  <th data-align="end">Jobs failed</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((period, index) => (
              <Row
                key={period.start}
                period={period}
                isCurrent={index === 0}
                isComparing={isComparing}
                found={analytics[index]?.data as Schemas["Analytics"] | undefined}
              />
            ))}
          </tbody>
        </table>
      </div>
      {periods.length > shown.length && (
        <p className={styles.more}>The newest {plural(shown.length, "period")} are shown.</p>
      )}
    </Panel>
  );
}

interface RowProps {
  period: Period;
  isCurrent: boolean;
  isComparing: boolean;
  found: Schemas["Analytics"] | undefined;
}

function Row({ period, isCurrent, isComparing, found }: RowProps) {
  const wait = (value: number | null | undefined) => (typeof value === "number" ? shortDuration(value) : "–");
  return (
    <tr>
      <td>
        {period.policy}
        {isCurrent && <span className="muted"> (now)</span>}
      </td>
      <td>
        <Time at={period.start} />
      </td>
      <td data-align="end">{shortDuration(secondsBetween(period.start, period.stop))}</td>
      <td data-align="end">{formatCount(period.decisions)}</td>
      <td data-align="end">{formatCount(period.placed)}</td>
      <td data-align="end">{formatCount(period.nodes)}</td>
      <td data-align="end">{formatCount(period.preempted)}</td>
      {isComparing && (
        <>
          <td data-align="end">{wait(found?.wait.p50)}</td>
          <td data-align="end">{wait(found?.wait.p95)}</td>
          <td data-align="end">{found ? formatCount(found.failed.reduce((sum, each) => sum + each, 0)) : "–"}</td>
        </>
      )}
    </tr>
  );
}
