/** Jobs, tasks and nodes in numbers, each with the list behind it. */
import { Link } from "@tanstack/react-router";
import type { ClusterInfo } from "../../api/client";
import { Glyph } from "../../components/StateMark";
import { formatCount, formatResource, parseAmount, percent, plural } from "../../model/quantities";
import { countLooks } from "../../model/states";
import styles from "./Overview.module.css";

export function Counts({ cluster }: { cluster: ClusterInfo }) {
  const tasks = countLooks(cluster.tasks);
  const nodes = Object.values(cluster.nodes).reduce((sum, count) => sum + count, 0);
  return (
    <div className={styles.counts}>
      <Link to="/jobs" search={{ filter: "state:running" }} className={styles.count}>
        <strong>{formatCount(tasks.running + tasks.starting)}</strong>
        <span>
          <Glyph look="running" /> tasks run, in {plural(cluster.jobs.running ?? 0, "job")}
        </span>
      </Link>
      <Link to="/jobs" search={{ filter: "state:pending" }} className={styles.count}>
        <strong>{formatCount(tasks.waiting)}</strong>
        <span>
          <Glyph look="waiting" /> tasks wait, {plural(cluster.jobs.pending ?? 0, "job")} pending
        </span>
      </Link>
      <Link to="/nodes" className={styles.count}>
        <strong>
          {formatCount(cluster.nodes.ready ?? 0)} / {formatCount(nodes)}
        </strong>
        <span>nodes ready</span>
      </Link>
      {["cpu", "memory"].map((kind) => (
        <Share key={kind} kind={kind} cluster={cluster} />
      ))}
    </div>
  );
}

function Share({ kind, cluster }: { kind: string; cluster: ClusterInfo }) {
  const whole = parseAmount(cluster.capacity[kind]);
  const part = parseAmount(cluster.reserved[kind]);
  return (
    <Link to="/nodes" className={styles.count}>
      <strong>{percent(part, whole)}</strong>
      <span>
        {kind}: {formatResource(kind, part)} of {formatResource(kind, whole)}
      </span>
    </Link>
  );
}
