/** All runs of this name, newest first. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type JobKey, runsQuery } from "../../api/queries";
import { Elapsed, Time } from "../../components/Clock";
import { Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { StateMark } from "../../components/StateMark";
import { TaskBar } from "../../components/TaskBar";
import { referenceOf } from "../../model/attention";
import { formatCount } from "../../model/quantities";

export function RunsTab({ jobKey }: { jobKey: JobKey }) {
  const name = jobKey.job.split("@", 1)[0] ?? jobKey.job;
  const runs = useQuery(runsQuery({ namespace: jobKey.namespace, job: name }));
  if (runs.isError && !runs.data) return <Failure error={runs.error} retry={() => void runs.refetch()} />;
  if (!runs.data) return <Loading />;
  return (
    <Panel
      title={`Runs of ${name}`}
      isFlush
      actions={
        <span>
          {formatCount(runs.data.items.length)} of {formatCount(runs.data.total)} shown
        </span>
      }
    >
      <table>
        <thead>
          <tr>
            <th>Run</th>
            <th>State</th>
            <th>Tasks</th>
            <th>Submitted</th>
            <th>Took</th>
          </tr>
        </thead>
        <tbody>
          {runs.data.items.map((run) => (
            <tr key={run.id}>
              <td>
                <Link
                  to="/jobs/$namespace/$job/$tab"
                  params={{ namespace: run.namespace, job: referenceOf(run), tab: "tasks" }}
                >
                  {referenceOf(run)}
                </Link>
              </td>
              <td>
                <StateMark state={run.state} />
              </td>
              <td>
                <TaskBar counts={run.counts} />
              </td>
              <td>
                <Time at={run.submitted_at} />
              </td>
              <td>
                <Elapsed start={run.started_at} stop={run.ended_at ?? null} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
