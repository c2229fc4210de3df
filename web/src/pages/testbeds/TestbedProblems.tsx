/** What keeps a testbed from having all its slots, by node. */
import type { ObjectView } from "../../api/client";
import { Glyph } from "../../components/StateMark";
import styles from "./Testbeds.module.css";

const SHOWN_MAX = 5;

export function TestbedProblems({ testbed }: { testbed: ObjectView }) {
  const general = (testbed.status?.problems as string[] | undefined) ?? [];
  const byNode = Object.entries((testbed.status?.nodeProblems as Record<string, string[]> | undefined) ?? {});
  const all = [...general, ...byNode.map(([node, problems]) => `${node}: ${problems.join("; ")}`)];
  if (all.length === 0) return null;
  return (
    <ul className={styles.problems}>
      {all.slice(0, SHOWN_MAX).map((problem) => (
        <li key={problem}>
          <Glyph look="failed" /> {problem}
        </li>
      ))}
      {all.length > SHOWN_MAX && <li className="muted">and {all.length - SHOWN_MAX} more nodes with problems</li>}
    </ul>
  );
}
