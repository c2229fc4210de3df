/** Every node as a tile: filled from below by its load, with a sign on those that are not ready. Up to 10,000 nodes. */
import { type KeyboardEvent, type MouseEvent, useCallback, useMemo, useState } from "react";
import { groupNodes, layOut, nodeAt, TITLE_HEIGHT, tilesOf } from "../model/nodeTiles";
import type { NodeTile } from "../model/nodeView";
import { formatCount, percent } from "../model/quantities";
import { Legend } from "./Legend";
import styles from "./NodeMap.module.css";
import { type Draw, useCanvas } from "./useCanvas";

interface NodeMapProps {
  nodes: NodeTile[];
  heightMax: number;
  onOpen: (name: string) => void;
}

const SIGNED_FROM = 8;

export function NodeMap({ nodes, heightMax, onOpen }: NodeMapProps) {
  const [current, setCurrent] = useState(-1);
  const [size, setSize] = useState(0);
  const groups = useMemo(() => groupNodes(nodes, (node) => node.group), [nodes]);
  const layout = useMemo(() => layOut(groups, size || 600, heightMax), [groups, size, heightMax]);
  const draw = useCallback<Draw>(
    (context, _width, _height, colour) => {
      context.fillStyle = colour("muted");
      for (const group of layout.groups) {
        context.fillText(`${group.name}  ${formatCount(group.members.length)}`, 0, group.top + 12);
      }
      for (const { node, x, y } of tilesOf(layout)) {
        const tile = nodes[node];
        if (tile) drawTile(context, tile, x, y, layout.size, node === current, colour);
      }
    },
    [layout, nodes, current],
  );
  const { canvas, width } = useCanvas(draw, Math.max(layout.height, TITLE_HEIGHT + 10));
  if (width && width !== size) setSize(width);
  const shown = nodes[current];

  const onMove = (event: MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    setCurrent(nodeAt(layout, event.clientX - box.left, event.clientY - box.top));
  };
  const onKey = (event: KeyboardEvent) => {
    const columns = layout.groups[0]?.columns ?? 1;
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[event.key];
    if (step !== undefined) setCurrent(Math.min(nodes.length - 1, Math.max(0, current + step)));
    else if (event.key === "Enter" && shown) onOpen(shown.name);
    else return;
    event.preventDefault();
  };
  return (
    <div className={styles.map}>
      <div className={styles.canvas}>
        <canvas
          ref={canvas}
          role="application"
          aria-label={`Map of ${formatCount(nodes.length)} nodes by reserved share. Arrow keys move, Enter opens a node.`}
          tabIndex={0}
          onMouseMove={onMove}
          onMouseLeave={() => setCurrent(-1)}
          onClick={() => shown && onOpen(shown.name)}
          onKeyDown={onKey}
        />
      </div>
      <p className={styles.line} aria-live="polite">
        {shown ? (
          <>
            <strong>{shown.name}</strong> {shown.state}, {percent(shown.load, 1)} reserved, {formatCount(shown.tasks)}{" "}
            tasks
          </>
        ) : (
          <Legend items={LEGEND} />
        )}
      </p>
    </div>
  );
}

const LEGEND = [
  { colour: "var(--hover)", label: "idle" },
  { colour: "color-mix(in srgb, var(--running) 45%, var(--hover))", label: "half reserved" },
  { colour: "var(--running)", label: "full" },
  { colour: "var(--failed)", label: "✕ down" },
  { colour: "var(--lost)", label: "? suspect, quarantined" },
  { colour: "var(--waiting)", label: "– drained, cordoned" },
];

function drawTile(
  context: CanvasRenderingContext2D,
  tile: NodeTile,
  x: number,
  y: number,
  size: number,
  isCurrent: boolean,
  colour: (name: string) => string,
): void {
  const inner = size > 6 ? size - 2 : size - 1;
  context.fillStyle = colour("hover");
  context.fillRect(x, y, inner, inner);
  if (tile.state === "ready") {
    const filled = Math.round(inner * tile.load);
    context.fillStyle = colour("running");
    context.fillRect(x, y + inner - filled, inner, filled);
  } else {
    drawSign(context, tile.state, x, y, inner, colour);
  }
  if (isCurrent) {
    context.strokeStyle = colour("text");
    context.lineWidth = 2;
    context.strokeRect(x, y, inner, inner);
  }
}

function drawSign(
  context: CanvasRenderingContext2D,
  state: string,
  x: number,
  y: number,
  size: number,
  colour: (name: string) => string,
): void {
  const sign = state === "down" ? "✕" : state === "suspect" || state === "quarantined" ? "?" : "–";
  context.fillStyle = colour(sign === "✕" ? "failed" : sign === "?" ? "lost" : "waiting");
  context.fillRect(x, y, size, size);
  if (size < SIGNED_FROM) return;
  context.fillStyle = colour("bg");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(sign, x + size / 2, y + size / 2 + 0.5);
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}
