/** The rows of nodes. Only those on the screen exist as elements. */
import { Link } from "@tanstack/react-router";
import { ShareBar } from "../../components/ShareBar";
import { StateMark } from "../../components/StateMark";
import { VirtualRows } from "../../components/VirtualRows";
import type { NodeTile } from "../../model/nodeView";
import { formatCount, percent } from "../../model/quantities";
import styles from "./Nodes.module.css";

const HEAD = ["Node", "State", "Tasks", "cpu reserved", "memory reserved"];

export function NodesTable({ nodes, groupTitle }: { nodes: NodeTile[]; groupTitle: string }) {
  return (
    <div role="table" aria-label="Nodes" aria-rowcount={nodes.length + 1} className={styles.table}>
      <div role="row" className={styles.headRow}>
        {[...HEAD, groupTitle, "Reason"].map((title) => (
          <span role="columnheader" key={title} data-align={title === "Tasks" ? "end" : undefined}>
            {title}
          </span>
        ))}
      </div>
      <VirtualRows count={nodes.length}>{(index) => nodes[index] && <NodeRow node={nodes[index]} />}</VirtualRows>
    </div>
  );
}

function NodeRow({ node }: { node: NodeTile }) {
  return (
    <div role="row" className={styles.row}>
      <span role="cell">
        <Link to="/nodes/$name/$tab" params={{ name: node.name, tab: "tasks" }}>
          {node.name}
        </Link>
      </span>
      <span role="cell" title={node.reason}>
        <StateMark state={node.state} />
      </span>
      <span role="cell" data-align="end">
        {formatCount(node.tasks)}
      </span>
      <Share part={node.cpu} />
      <Share part={node.memory} />
      <span role="cell">{node.group}</span>
      <span role="cell" className="muted" title={node.reason}>
        {node.reason}
      </span>
    </div>
  );
}

function Share({ part }: { part: number }) {
  return (
    <span role="cell">
      <ShareBar part={part} whole={1} text={percent(part, 1)} />
    </span>
  );
}
