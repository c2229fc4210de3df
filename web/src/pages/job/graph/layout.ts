/** Places the boxes of a graph with dagre, which the browser loads with the first graph. */
import { Graph, layout } from "@dagrejs/dagre";
import { type JobGraph, NODE_HEIGHT, NODE_WIDTH, type PlacedGraph } from "../../../model/jobGraph";

interface Point {
  x: number;
  y: number;
}

export function layOutGraph(graph: JobGraph): PlacedGraph {
  const drawing = new Graph();
  drawing.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 48, marginx: 4, marginy: 4 });
  drawing.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) drawing.setNode(node.id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const edge of graph.edges) drawing.setEdge(edge.from, edge.to);
  layout(drawing);
  const { width = 0, height = 0 } = drawing.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    nodes: graph.nodes.map((node) => {
      const { x, y } = drawing.node(node.id) as Point;
      return { ...node, x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 };
    }),
    edges: graph.edges.map((edge) => ({ ...edge, path: pathOf(drawing.edge(edge.from, edge.to).points as Point[]) })),
  };
}

function pathOf(points: Point[]): string {
  return points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}
