/** What somebody should look at now, each with the page that explains it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobsQuery } from "../../api/queries";
import { useNow } from "../../components/Clock";
import { Panel } from "../../components/Panel";
import { Glyph, StateMark } from "../../components/StateMark";
import { type Concern, findConcerns } from "../../model/attention";
import type { NodeTile } from "../../model/nodeView";
import { plural } from "../../model/quantities";
import styles from "./Overview.module.css";

const LOOKED_AT = 50;

export function Attention({ nodes }: { nodes: readonly NodeTile[] }) {
  const nowMs = useNow();
  const failed = useQuery(jobsQuery("state:failed", undefined, LOOKED_AT)).data?.items ?? [];
  const waiting = useQuery(jobsQuery("state:pending", undefined, LOOKED_AT)).data?.items ?? [];
  const { concerns, left } = findConcerns({ failed, waiting, nodes, nowMs });
  const more = left > 0 && <span>{plural(left, "more thing")} below these</span>;
  return (
    <Panel title="Needs attention" isFlush actions={more}>
      {concerns.length === 0 ? (
        <p className={styles.calm}>
          <Glyph look="succeeded" /> Nothing: {nodes.length > 0 && "no node is down, "}nothing failed in a day, and no
          job waits long.
        </p>
      ) : (
        <ul>
          {concerns.map((concern) => (
            <li key={concern.key} className={styles.concern}>
              <StateMark state={concern.state} word={concern.text} />
              <span className={styles.detail} title={concern.detail}>
                {concern.detail}
              </span>
              <ConcernLink concern={concern} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function ConcernLink({ concern }: { concern: Concern }) {
  if (concern.job) {
    const label = concern.state === "pending" ? "Why" : "Open";
    return (
      <Link
        to="/jobs/$namespace/$job/$tab"
        params={{ ...concern.job, tab: "tasks" }}
        aria-label={`${label}: ${concern.text}`}
      >
        {label}
      </Link>
    );
  }
  return (
    <Link
      to="/nodes/$name/$tab"
      params={{ name: concern.node ?? "", tab: "tasks" }}
      aria-label={`Open: ${concern.text}`}
    >
      Open
    </Link>
  );
}
