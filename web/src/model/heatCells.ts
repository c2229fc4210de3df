/** The heat map of tasks: which tasks are on the screen, and what a cell shows. Pure. */
import { LOOKS, lookOf } from "./states";

export interface Window {
  from: number;
  to: number;
}

export interface Cell {
  /** The look of most tasks of the cell, as an index into LOOKS. */
  look: number;
  /** Whether any failed, which is shown even if most succeeded. */
  hasFailed: boolean;
}

export const CELL_SIZE = 13;
const FAILED = LOOKS.indexOf("failed");
const SPAN_MIN = 16;
const ZOOM = 2;

/** How many columns fit, and how many cells in all. */
export function roomFor(width: number, height: number): { columns: number; cells: number } {
  const columns = Math.max(1, Math.floor(width / CELL_SIZE));
  return { columns, cells: columns * Math.max(1, Math.floor(height / CELL_SIZE)) };
}

/** `counts`: for each state, how many tasks of each cell have it, as the manager answers. */
export function cellsOf(counts: Record<string, readonly number[]>, size: number): Cell[] {
  const columns = Object.entries(counts).map(([state, column]) => ({ look: LOOKS.indexOf(lookOf(state)), column }));
  const sums = new Int32Array(LOOKS.length);
  return Array.from({ length: size }, (_, cell) => {
    sums.fill(0);
    for (const { look, column } of columns) sums[look] = (sums[look] as number) + (column[cell] ?? 0);
    return { look: largest(sums), hasFailed: (sums[FAILED] as number) > 0 };
  });
}

function largest(counts: Int32Array): number {
  let best = 0;
  for (let look = 1; look < counts.length; look++) if ((counts[look] as number) > (counts[best] as number)) best = look;
  return best;
}

/** Zooms around a task that stays where it is. `direction`: 1 in, -1 out. */
export function zoom(window: Window, count: number, around: number, direction: number): Window {
  const span = window.to - window.from;
  const next = Math.min(
    count,
    Math.max(Math.min(SPAN_MIN, count), Math.round(direction > 0 ? span / ZOOM : span * ZOOM)),
  );
  const share = span === 0 ? 0 : (around - window.from) / span;
  return clamp(Math.round(around - share * next), next, count);
}

export function pan(window: Window, count: number, tasks: number): Window {
  return clamp(window.from + tasks, window.to - window.from, count);
}

function clamp(from: number, span: number, count: number): Window {
  const first = Math.min(Math.max(0, from), Math.max(0, count - span));
  return { from: first, to: Math.min(count, first + span) };
}
