/** One decision: what the policy saw, what it decided, and what it left and why. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { Schemas } from "../../api/client";
import { decisionQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { formatCount, plural } from "../../model/quantities";
import { shortDuration } from "../../model/times";
import styles from "./Decisions.module.css";

type Detail = Schemas["DecisionDetail"];

const ITEMS_SHOWN = 40;

export function DecisionDetails({ id }: { id: string }) {
  const found = useQuery(decisionQuery(id));
  if (found.isError && !found.data) {
    return (
      <Panel title="The decision">
        <Failure error={found.error} retry={() => void found.refetch()} />
      </Panel>
    );
  }
  if (!found.data) return <Loading />;
  return (
    <div className={styles.pair} data-old={found.isPlaceholderData || undefined}>
      <Saw detail={found.data} />
      <Decided detail={found.data} />
      <Waiting detail={found.data} />
    </div>
  );
}

function Saw({ detail }: { detail: Detail }) {
  const { decision } = detail;
  const rows: [string, string][] = [
    ["Nodes", `${formatCount(detail.nodes)}, of which ${formatCount(detail.eligible)} took work`],
    ...detail.resources.map((one): [string, string] => [one.name, `${one.reserved} of ${one.capacity} reserved`]),
    ["Waiting", `${plural(detail.queued_tasks, "task")} of ${classes(detail.queued_classes)}`],
    ["Could place", `up to ${plural(detail.budget, "task")}`],
    ["State", `version ${formatCount(decision.version)}`],
  ];
  return (
    <Panel
      title="What the policy saw"
      actions={
        <span>
          <strong>{decision.policy}</strong> at <Time at={decision.at} />
          {decision.source !== "rounds" && `, ${decision.source}`}
        </span>
      }
    >
      <dl className={styles.facts}>
        {rows.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </Panel>
  );
}

function Decided({ detail: { decision } }: { detail: Detail }) {
  const items = decision.items ?? [];
  return (
    <Panel
      title="What it decided"
      actions={
        <span>
          {formatCount(decision.placed)} placed, {formatCount(decision.left)} left
          {decision.preempted > 0 && `, ${formatCount(decision.preempted)} preempted`}
        </span>
      }
    >
      {decision.error && (
        <p>
          <Glyph look="failed" /> {decision.error}
        </p>
      )}
      {items.length === 0 && !decision.error && <p className="muted">It placed nothing.</p>}
      <ul className={styles.items}>
        {items.slice(0, ITEMS_SHOWN).map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a decision never changes
          <li key={index}>
            <Glyph look={item.preempted ? "failed" : "running"} /> {item.preempted && "preempted "}
            {plural(item.count, "task")} {item.preempted ? "on" : "to"}{" "}
            <Link to="/nodes/$name/$tab" params={{ name: item.node, tab: "tasks" }}>
              {item.node}
            </Link>{" "}
            {item.who && <span className="muted">{item.who}</span>}
          </li>
        ))}
      </ul>
      {(items.length > ITEMS_SHOWN || decision.truncated) && (
        <p className="muted">
          The first {formatCount(Math.min(ITEMS_SHOWN, items.length))} placements are shown
          {!decision.truncated && ` of ${formatCount(items.length)}`}.
        </p>
      )}
    </Panel>
  );
}

function Waiting({ detail }: { detail: Detail }) {
  const { classes: found } = detail;
  return (
    <section className={styles.wide}>
      <Panel title="What waited, and why the rest was left" isFlush>
        {found.length === 0 ? (
          <Empty title="Nothing waited at this moment" />
        ) : (
          <div className={styles.scroll}>
            <table>
              <thead>
                <tr>
                  <th>Tasks of</th>
                  <th data-align="end">Waited</th>
                  <th data-align="end">Waiting</th>
                  <th data-align="end">Placed</th>
                  <th data-align="end">Left</th>
                  <th>Each needs</th>
                  <th>Why the rest was left</th>
                </tr>
              </thead>
              <tbody>
                {found.map((one) => (
                  <tr key={one.class_id}>
                    <td title={`class ${one.class_id}, queue ${one.queue}, priority ${one.priority}`}>
                      {one.name ?? `${one.namespace}/${one.user}`}
                    </td>
                    <td data-align="end">{shortDuration(one.waited_s)}</td>
                    <td data-align="end">{formatCount(one.queued)}</td>
                    <td data-align="end">{formatCount(one.placed)}</td>
                    <td data-align="end">{formatCount(Math.max(0, one.queued - one.placed))}</td>
                    <td>{needsOf(one)}</td>
                    <td className={styles.reason}>{one.reason ?? (one.placed < one.queued ? "not reached" : "")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {detail.truncated && (
          <p className={styles.more}>
            {formatCount(found.length)} of {formatCount(detail.queued_classes)} kinds of tasks are shown.
          </p>
        )}
      </Panel>
    </section>
  );
}

function needsOf({ needs, constraints }: Schemas["SeenClass"]): string {
  return [...Object.entries(needs).map(([name, amount]) => `${amount} ${name}`), ...(constraints ?? [])].join(", ");
}

function classes(count: number): string {
  return `${formatCount(count)} kind${count === 1 ? "" : "s"}`;
}
