/** The tasks of a job as cells, up to millions: each cell is one task or many. Wheel, +, - and arrows zoom and move. */
import {
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { CELL_SIZE, type Cell, cellsOf, pan, roomFor, type Window, zoom } from "../model/heatCells";
import { formatCount, plural } from "../model/quantities";
import { LOOKS } from "../model/states";
import styles from "./HeatMap.module.css";
import { Legend } from "./Legend";
import { type Draw, useCanvas } from "./useCanvas";

/** What the manager answers: positions count from 0 in the group, `starts` are indexes of tasks. */
export interface TaskCells {
  total: number;
  first: number;
  last: number;
  starts: number[];
  sizes: number[];
  counts: Record<string, number[]>;
}

interface HeatMapProps {
  map: TaskCells;
  /** Null: all tasks. */
  window: Window | null;
  onWindow: (window: Window | null) => void;
  /** How many cells fit. */
  onRoom: (cells: number) => void;
  /** `task` is an index of the job's tasks. */
  onOpen: (task: number) => void;
}

const HEIGHT = 200;
const LEGEND = LOOKS.filter((look) => look !== "lost").map((look) => ({
  colour: look === "waiting" ? "transparent" : `var(--${look})`,
  label: look,
}));

export function HeatMap({ map, window, onWindow, onRoom, onOpen }: HeatMapProps) {
  const [current, setCurrent] = useState(-1);
  const [columns, setColumns] = useState(40);
  const cells = useMemo(() => cellsOf(map.counts, map.sizes.length), [map]);
  const draw = useCallback<Draw>((context, _width, _height, colour) => {
    cells.forEach((cell, index) => {
      drawCell(context, cell, (index % columns) * CELL_SIZE, Math.floor(index / columns) * CELL_SIZE, index === current, colour);
    });
  }, [cells, columns, current]); // biome-ignore format: one call
  const rows = Math.ceil(cells.length / columns);
  const { canvas, width } = useCanvas(draw, Math.max(rows, 1) * CELL_SIZE);
  useEffect(() => {
    if (width === 0) return;
    const room = roomFor(width, HEIGHT);
    setColumns(room.columns);
    onRoom(room.cells);
  }, [width, onRoom]);

  const shown = { from: map.first, to: map.last + 1 };
  const perCell = map.sizes[0] ?? 1;
  const change = (next: Window) => onWindow(next.from === 0 && next.to === map.total ? null : next);
  const zoomAt = (cell: number, direction: number) => {
    const around = cell >= 0 ? map.first + cell * perCell : (shown.from + shown.to) / 2;
    change(zoom(shown, map.total, around, direction));
  };
  useWheel(canvas, (event) => zoomAt(cellAt(event, columns), event.deltaY < 0 ? 1 : -1));
  const move = (step: number) => {
    const next = current + step;
    if (next >= 0 && next < cells.length) setCurrent(next);
    else change(pan(shown, map.total, step * perCell));
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[event.key];
    const start = map.starts[current];
    if (event.key === "+" || event.key === "=") zoomAt(current, 1);
    else if (event.key === "-") zoomAt(current, -1);
    else if (event.key === "0") onWindow(null);
    else if (event.key === "Enter" && start !== undefined) onOpen(start);
    else if (step !== undefined) move(step);
    else return;
    event.preventDefault();
  };
  return (
    <div className={styles.map}>
      <canvas
        ref={canvas}
        role="application"
        aria-label={`States of ${plural(map.total, "task")}. Plus and minus zoom, arrow keys move, Enter opens a task.`}
        tabIndex={0}
        onMouseMove={(event) => setCurrent(cellAt(event, columns))}
        onMouseLeave={() => setCurrent(-1)}
        onClick={() => map.starts[current] !== undefined && onOpen(map.starts[current])}
        onKeyDown={onKey}
      />
      <div className={styles.foot}>
        <span aria-live="polite">
          {cells[current] ? (
            <strong>{describeCell(map, cells[current], current)}</strong>
          ) : (
            <span className="muted">
              1 cell = {plural(perCell, "task")}
              {window && `, tasks ${formatCount(map.first)}–${formatCount(map.last)} of ${formatCount(map.total)}`}
            </span>
          )}
        </span>
        <Legend items={LEGEND} />
        <span className={styles.zoom}>
          <button type="button" aria-label="Zoom in" onClick={() => zoomAt(-1, 1)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" disabled={!window} onClick={() => zoomAt(-1, -1)}>
            −
          </button>
          <button type="button" disabled={!window} onClick={() => onWindow(null)}>
            All
          </button>
        </span>
      </div>
    </div>
  );
}

/** `task 3: failed`, or `256 tasks from 81,152: 255 succeeded, 1 failed`. */
function describeCell(map: TaskCells, cell: Cell, index: number): string {
  const start = formatCount(map.starts[index] ?? 0);
  const size = map.sizes[index] ?? 1;
  if (size === 1) return `task ${start}: ${LOOKS[cell.look]}`;
  const counts = Object.entries(map.counts)
    .filter(([, column]) => (column[index] ?? 0) > 0)
    .map(([state, column]) => `${formatCount(column[index] ?? 0)} ${state}`);
  return `${plural(size, "task")} from ${start}: ${counts.join(", ")}`;
}

function cellAt(event: MouseEvent | WheelEvent, columns: number): number {
  const box = (event.target as Element).getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / CELL_SIZE);
  return column >= columns ? -1 : Math.floor((event.clientY - box.top) / CELL_SIZE) * columns + column;
}

/** React's wheel listeners are passive, and this one must stop the page from scrolling. */
function useWheel(target: RefObject<HTMLCanvasElement | null>, handler: (event: WheelEvent) => void): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const element = target.current;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      latest.current(event);
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [target]);
}

/** The colour has a second sign: failures have a cross, waiting tasks are hollow. */
function drawCell(
  context: CanvasRenderingContext2D,
  cell: Cell,
  x: number,
  y: number,
  isCurrent: boolean,
  colour: (name: string) => string,
): void {
  const look = LOOKS[cell.look] ?? "lost";
  const size = CELL_SIZE - 2;
  context.lineWidth = 1;
  if (look === "waiting") {
    context.strokeStyle = colour("waiting");
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  } else {
    context.fillStyle = colour(look);
    context.fillRect(x, y, size, size);
  }
  if (cell.hasFailed) drawCross(context, x, y, size, look !== "failed", colour);
  if (!isCurrent) return;
  context.strokeStyle = colour("text");
  context.lineWidth = 2;
  context.strokeRect(x, y, size, size);
}

/** On a cell where most did not fail, the upper half has the colour of failures. */
function drawCross(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  size: number,
  isHalf: boolean,
  colour: (name: string) => string,
): void {
  if (isHalf) {
    context.fillStyle = colour("failed");
    context.fillRect(x, y, size, size / 2);
  }
  context.strokeStyle = colour("bg");
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 3, y + 3);
  context.lineTo(x + size - 3, y + size - 3);
  context.moveTo(x + size - 3, y + 3);
  context.lineTo(x + 3, y + size - 3);
  context.stroke();
}
