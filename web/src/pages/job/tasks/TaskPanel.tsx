/** One task: its attempts, the end of its log, and what can be done with it. */

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { stopTask } from "../../../api/actions";
import { body, client } from "../../../api/client";
import { attemptsQuery, type JobKey } from "../../../api/queries";
import { ActionButton } from "../../../components/ActionButton";
import { Elapsed, Time } from "../../../components/Clock";
import { Failure, Loading } from "../../../components/Notice";
import { Panel } from "../../../components/Panel";
import { StateMark } from "../../../components/StateMark";
import { say, sayError } from "../../../components/Toasts";
import { isDone } from "../../../model/states";
import { LogView } from "../logs/LogView";
import styles from "./Tasks.module.css";

interface TaskPanelProps {
  jobKey: JobKey;
  /** `main/3`. */
  path: string;
  onClose: () => void;
}

const LOG_TAIL = 200;

export function TaskPanel({ jobKey, path, onClose }: TaskPanelProps) {
  const [group = "main", indexText = "0"] = path.split("/");
  const index = Number(indexText);
  const { namespace, job } = jobKey;
  const task = useQuery({
    queryKey: ["job", namespace, job, "task", path],
    queryFn: () =>
      body(
        client.GET("/api/v1/jobs/{job}/tasks/{index}", {
          params: { path: { job, index }, query: { namespace, group } },
        }),
      ),
  });
  if (task.isError && !task.data) return <Failure error={task.error} />;
  if (!task.data) return <Loading />;
  const { state, reason, node } = task.data;
  const stop = () => void stopTask(jobKey, index, group).then(() => say("Stopping the task."), sayError);
  return (
    <Panel
      title={`Task ${task.data.name}`}
      actions={
        <>
          <StateMark state={state} />
          {node && <span>on {node}</span>}
          {!isDone(state) && (
            <ActionButton right="submit" onClick={stop}>
              Stop this task
            </ActionButton>
          )}
          <button type="button" data-kind="plain" aria-label="Close the task" onClick={onClose}>
            <X size={16} />
          </button>
        </>
      }
    >
      <div className={styles.task}>
        {reason && <p>{reason}</p>}
        <Attempts jobKey={jobKey} index={index} group={group} />
        <LogView jobKey={jobKey} query={{ group: [group], index: String(index), tail: LOG_TAIL }} isTaskHidden />
      </div>
    </Panel>
  );
}

function Attempts({ jobKey, index, group }: { jobKey: JobKey; index: number; group: string }) {
  const attempts = useQuery(attemptsQuery(jobKey, index, group)).data?.items ?? [];
  if (attempts.length === 0) return null;
  return (
    <table className={styles.attempts}>
      <thead>
        <tr>
          <th>Attempt</th>
          <th>State</th>
          <th>Node</th>
          <th>Started</th>
          <th>Took</th>
          <th>Exit</th>
          <th>Reason</th>
        </tr>
      </thead>
      <tbody>
        {attempts.map((attempt) => (
          <tr key={attempt.attempt}>
            <td>{attempt.attempt}</td>
            <td>
              <StateMark state={attempt.state} />
            </td>
            <td>{attempt.node}</td>
            <td>
              <Time at={attempt.started_at} />
            </td>
            <td>
              <Elapsed start={attempt.started_at} stop={attempt.ended_at ?? null} />
            </td>
            <td>{attempt.exit_code ?? "–"}</td>
            <td className="muted">{attempt.reason}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
