/** Who had how much of it, as a table; the largest first. */
import type { ReactNode } from "react";
import type { Schemas } from "../../api/client";
import { Empty } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { formatCount } from "../../model/quantities";
import styles from "./Analytics.module.css";

type Share = Schemas["Share"];

interface SharesProps {
  title: string;
  word: string;
  shares: Share[];
  none: string;
  columns?: [string, "jobs" | "tasks" | "failed"][];
  linkOf?: (key: string) => ReactNode;
}

const COLUMNS: SharesProps["columns"] = [
  ["Jobs", "jobs"],
  ["Tasks", "tasks"],
  ["Failed", "failed"],
];
const SHOWN_MAX = 20; // as many as one answer has

export function Shares({ title, word, shares, none, columns = COLUMNS, linkOf }: SharesProps) {
  return (
    <Panel title={title} isFlush>
      {shares.length === 0 ? (
        <Empty title={none} />
      ) : (
        <table>
          <thead>
            <tr>
              <th>{word}</th>
              {columns?.map(([label]) => (
                <th key={label} data-align="end">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shares.map((share) => (
              <tr key={share.key}>
                <td className={styles.key} title={share.key}>
                  {linkOf ? linkOf(share.key) : share.key}
                </td>
                {columns?.map(([label, field]) => (
                  <td key={label} data-align="end">
                    {formatCount(share[field])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {shares.length >= SHOWN_MAX && <p className={styles.more}>The largest {SHOWN_MAX} are shown.</p>}
    </Panel>
  );
}
