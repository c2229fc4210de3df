/** What the job and its groups wait for, as a graph from left to right. */
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { JobView } from "../../../api/client";
import { Empty } from "../../../components/Notice";
import { Panel } from "../../../components/Panel";
import { StateMark } from "../../../components/StateMark";
import { graphOf, NODE_HEIGHT, NODE_WIDTH, type PlacedGraph } from "../../../model/jobGraph";
import styles from "./Graph.module.css";

const STROKE = 1.5;

export function GraphTab({ view }: { view: JobView }) {
  const [placed, setPlaced] = useState<PlacedGraph | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const graph = graphOf(view);
    void import("./layout").then(({ layOutGraph }) => isCurrent && setPlaced(layOutGraph(graph)));
    return () => {
      isCurrent = false;
    };
  }, [view]);
  if (!placed) return null;
  if (placed.edges.length === 0) {
    return (
      <Empty
        title="The job waits for no other job, and its groups for no other group"
        command={"after: [{job: fetch, when: succeeded}]"}
      >
        A job or a group starts after another one with this line in its manifest:
      </Empty>
    );
  }
  return (
    <Panel title="Dependencies">
      <div className={styles.place}>
        <div className={styles.graph} style={{ width: placed.width, height: placed.height }}>
          <svg width={placed.width} height={placed.height} aria-hidden="true">
            {placed.edges.map((edge) => (
              <path
                key={`${edge.from} ${edge.to}`}
                d={edge.path}
                strokeWidth={STROKE}
                data-open={edge.isOpen || undefined}
              />
            ))}
          </svg>
          {placed.nodes.map((node) => (
            <div
              key={node.id}
              className={styles.node}
              style={{ left: node.x, top: node.y, width: NODE_WIDTH, height: NODE_HEIGHT }}
            >
              {node.isOtherJob ? (
                <Link
                  to="/jobs/$namespace/$job/$tab"
                  params={{ namespace: view.namespace, job: node.label, tab: "tasks" }}
                >
                  {node.label}
                </Link>
              ) : (
                <strong>{node.label}</strong>
              )}
              <StateMark state={node.state} />
            </div>
          ))}
        </div>
      </div>
      <ul className="visually-hidden">
        {placed.edges.map((edge) => (
          <li key={`${edge.from} ${edge.to}`}>
            {edge.to} starts after {edge.from} {edge.when}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
