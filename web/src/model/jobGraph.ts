/** What a job and its groups wait for, as a graph. Pure. */
import type { JobView } from "../api/client";

export const NODE_WIDTH = 170;
export const NODE_HEIGHT = 52;

export interface GraphNode {
  id: string;
  label: string;
  state: string;
  isOtherJob: boolean;
}

export interface GraphEdge {
  from: string;
  to: string;
  when: string;
  /** It is still waited for. */
  isOpen: boolean;
}

export interface JobGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface PlacedGraph {
  width: number;
  height: number;
  nodes: (GraphNode & { x: number; y: number })[];
  edges: (GraphEdge & { path: string })[];
}

export function graphOf(view: JobView): JobGraph {
  const nodes = new Map<string, GraphNode>();
  const edges: GraphEdge[] = [];
  const groups = view.groups ?? [];
  for (const group of groups) {
    nodes.set(group.name, { id: group.name, label: group.name, state: stateOf(group.counts), isOtherJob: false });
    for (const edge of group.after ?? [])
      edges.push({ from: edge.name, to: group.name, when: edge.when, isOpen: edge.open });
  }
  if (groups.length === 0)
    nodes.set(view.name, { id: view.name, label: view.name, state: view.state, isOtherJob: false });
  const starts = groups.filter((group) => (group.after ?? []).length === 0).map((group) => group.name);
  for (const edge of view.terms?.after ?? []) {
    const id = `job ${edge.name}`;
    nodes.set(id, { id, label: edge.name, state: edge.outcome ?? "running", isOtherJob: true });
    for (const to of groups.length === 0 ? [view.name] : starts)
      edges.push({ from: id, to, when: edge.when, isOpen: edge.open });
  }
  return { nodes: [...nodes.values()], edges };
}

/** The state that says most about a group: what runs, then what failed, then what waits. */
export function stateOf(counts: Record<string, number>): string {
  const order = ["running", "assigned", "stopping", "failed", "queued", "waiting", "cancelled", "succeeded"];
  return order.find((state) => (counts[state] ?? 0) > 0) ?? "waiting";
}
