/** The tasks of a node: those that the manager has there, with what the worker measures of them. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { NODE_TASKS_PAGE, nodeStatsQuery, nodeTasksQuery } from "../../api/queries";
import { Elapsed } from "../../components/Clock";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { StateMark } from "../../components/StateMark";
import { formatBytes, formatCount, plural } from "../../model/quantities";
import { shortDuration } from "../../model/times";
import styles from "./Nodes.module.css";

export function NodeTasks({ name }: { name: string }) {
  const tasks = useInfiniteQuery(nodeTasksQuery(name));
  const stats = useQuery(nodeStatsQuery(name));
  if (tasks.isError && !tasks.data) return <Failure error={tasks.error} retry={() => void tasks.refetch()} />;
  if (!tasks.data) return <Loading />;
  const rows = tasks.data.pages.flatMap((page) => page.items);
  const total = tasks.data.pages[0]?.total ?? 0;
  if (rows.length === 0) return <Empty title="No task runs on this node" command={`shunter node show ${name}`} />;
  const measured = new Map(stats.data?.tasks.map((task) => [`${task.namespace}/${task.name}#${task.attempt}`, task]));
  return (
    <Panel title={plural(total, "task")} isFlush>
      <table>
        <thead>
          <tr>
            <th>Task</th>
            <th>Namespace</th>
            <th>State</th>
            <th data-align="end">Runs for</th>
            <th data-align="end">Attempt</th>
            <th data-align="end">cpu time</th>
            <th data-align="end">memory</th>
            <th data-align="end">processes</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((task) => {
            const usage = measured.get(`${task.namespace}/${task.name}#${task.attempt}`);
            return (
              <tr key={`${task.namespace}/${task.job}/${task.group}/${task.index}`}>
                <td className={styles.taskName} title={task.name}>
                  <Link
                    to="/jobs/$namespace/$job/$tab"
                    params={{ namespace: task.namespace, job: task.job, tab: "tasks" }}
                    search={{ task: `${task.group}/${task.index}` }}
                  >
                    {task.name}
                  </Link>
                </td>
                <td>{task.namespace}</td>
                <td>
                  <StateMark state={task.state} />
                </td>
                <td data-align="end">
                  <Elapsed start={task.started_at} />
                </td>
                <td data-align="end">{task.attempt}</td>
                <td data-align="end">{usage ? shortDuration(usage.cpu_s) : "–"}</td>
                <td data-align="end">{usage ? formatBytes(usage.memory_bytes) : "–"}</td>
                <td data-align="end">{usage ? usage.processes : "–"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {tasks.hasNextPage && (
        <p className={styles.more}>
          {formatCount(rows.length)} of {formatCount(total)} tasks
          <button type="button" disabled={tasks.isFetchingNextPage} onClick={() => void tasks.fetchNextPage()}>
            Show {NODE_TASKS_PAGE} more
          </button>
        </p>
      )}
    </Panel>
  );
}
