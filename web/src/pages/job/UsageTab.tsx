/** What one task of the job used over time, next to what it reserved. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JobView } from "../../api/client";
import { type JobKey, taskMetricsQuery } from "../../api/queries";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { UsageCharts } from "../../components/UsageCharts";
import styles from "./Job.module.css";

export function UsageTab({ jobKey, view }: { jobKey: JobKey; view: JobView }) {
  const [index, setIndex] = useState(0);
  const group = view.groups?.[0]?.name ?? "main";
  const metrics = useQuery(taskMetricsQuery(jobKey, index, group));
  const measured = metrics.data?.tasks?.[0];
  return (
    <Panel
      title={`Usage of task ${index}`}
      actions={
        <label>
          Task{" "}
          <input
            type="number"
            min={0}
            max={view.count - 1}
            value={index}
            onChange={(event) => setIndex(Math.max(0, Number(event.target.value)))}
          />
        </label>
      }
    >
      {metrics.isError ? (
        <Failure error={metrics.error} />
      ) : !metrics.data ? (
        <Loading />
      ) : !measured || Object.keys(measured.metrics ?? {}).length === 0 ? (
        <Empty title="No samples">
          Workers measure tasks every few seconds. This task ran for a shorter time, or its samples are gone.
        </Empty>
      ) : (
        <div className={styles.charts}>
          <UsageCharts metrics={measured.metrics ?? {}} start={metrics.data.start} stop={metrics.data.stop} />
        </div>
      )}
    </Panel>
  );
}
