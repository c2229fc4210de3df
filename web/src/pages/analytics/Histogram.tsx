/** How often which times occurred, as bars with their numbers. */
import type { Schemas } from "../../api/client";
import { Panel } from "../../components/Panel";
import { formatCount } from "../../model/quantities";
import { shortDuration } from "../../model/times";
import styles from "./Analytics.module.css";

export function Histogram({ title, distribution }: { title: string; distribution: Schemas["Distribution"] }) {
  const { bounds, buckets, p50, p95, max } = distribution;
  const most = Math.max(1, ...buckets);
  const read = (value: number | null) => (value === null ? "–" : shortDuration(value));
  return (
    <Panel title={title} actions={<span>{`median ${read(p50)}, 95% ${read(p95)}, max ${read(max)}`}</span>}>
      <ul className={styles.bars}>
        {buckets.map((count, index) => (
          <li key={bounds[index] ?? "rest"}>
            <span className="muted">
              {index < bounds.length ? `< ${read(bounds[index] ?? null)}` : `≥ ${read(bounds.at(-1) ?? null)}`}
            </span>
            <span className={styles.bar} style={{ width: `${(100 * count) / most}%` }} aria-hidden="true" />
            <span>{formatCount(count)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
