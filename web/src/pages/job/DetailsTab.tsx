/** What the job is: its terms, its groups, and its command. */
import type { JobView } from "../../api/client";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { Panel } from "../../components/Panel";
import { StateMark } from "../../components/StateMark";
import { TaskBar } from "../../components/TaskBar";
import { referenceOf } from "../../model/attention";
import { formatCount } from "../../model/quantities";
import styles from "./Job.module.css";

export function DetailsTab({ view }: { view: JobView }) {
  const facts: [string, string][] = [
    ["type", view.type],
    ["version", String(view.version)],
    ["priority", String(view.priority)],
    ["queue", view.terms?.queue ?? "default"],
    ["labels", entries(view.labels)],
    ["image", view.image ?? ""],
    ["command", (view.command ?? []).join(" ")],
    ["resources of a task", entries(view.resources)],
    ["waits for", (view.terms?.waits_for ?? []).join("; ")],
  ];
  return (
    <div style={{ display: "grid", gap: 16 }}>
      <Panel title="Job" actions={<Command text={`shunter job ${referenceOf(view)}`} />}>
        <dl className={styles.facts2}>
          {facts
            .filter(([, value]) => value !== "")
            .map(([name, value]) => (
              <Fact key={name} name={name} value={value} />
            ))}
          {view.terms?.deadline && (
            <>
              <dt>deadline</dt>
              <dd>
                <Time at={view.terms.deadline} />{" "}
                {view.terms.deadline_missed && <StateMark state="failed" word="missed" />}
              </dd>
            </>
          )}
        </dl>
      </Panel>
      {view.groups && view.groups.length > 0 && <Groups view={view} />}
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{name === "command" ? <code>{value}</code> : value}</dd>
    </>
  );
}

function Groups({ view }: { view: JobView }) {
  return (
    <Panel title="Groups" isFlush>
      <table>
        <thead>
          <tr>
            <th>Group</th>
            <th data-align="end">Tasks</th>
            <th>States</th>
            <th>Resources</th>
            <th>After</th>
          </tr>
        </thead>
        <tbody>
          {(view.groups ?? []).map((group) => (
            <tr key={group.name}>
              <td>{group.name}</td>
              <td data-align="end">{formatCount(group.count)}</td>
              <td>
                <TaskBar counts={group.counts} />
              </td>
              <td>{entries(group.resources)}</td>
              <td>{(group.after ?? []).map((edge) => `${edge.name} ${edge.when}`).join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function entries(values: Record<string, string> | undefined): string {
  return Object.entries(values ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
