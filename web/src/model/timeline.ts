/** Attempts of tasks as bars over time. Pure: the clock is an argument. */
import type { Schemas } from "../api/client";

export interface AttemptBar {
  key: string;
  /** `main/3`: the task in an address. */
  path: string;
  group: string;
  index: number;
  attempt: number;
  node: string;
  state: string;
  /** Milliseconds since the epoch; null: it still runs. */
  startMs: number;
  stopMs: number | null;
  /** Where the bar begins and how long it is, as shares of the whole time. */
  left: number;
  width: number;
}

const WIDTH_MIN = 0.002;

/** The columns of the API as bars, in the order of their starts. */
export function attemptBars(timeline: Schemas["Timeline"], nowMs: number): AttemptBar[] {
  const { startMs, spanMs } = spanOf(timeline, nowMs);
  const column = timeline.started_ms ?? [];
  return column.map((started, row) => {
    const group = timeline.groups?.[row] ?? "main";
    const index = timeline.indexes?.[row] ?? 0;
    const attempt = timeline.attempts?.[row] ?? 0;
    const stopMs = timeline.ended_ms?.[row] ?? null;
    const left = clamp((started - startMs) / spanMs);
    return {
      key: `${group}/${index}#${attempt}`,
      path: `${group}/${index}`,
      group,
      index,
      attempt,
      node: timeline.nodes?.[row] ?? "",
      state: timeline.states?.[row] ?? "lost",
      startMs: started,
      stopMs,
      left: Math.min(left, 1 - WIDTH_MIN),
      width: Math.max(WIDTH_MIN, clamp(((stopMs ?? nowMs) - startMs) / spanMs) - left),
    };
  });
}

/** From the first start to the last end, or to now while anything runs. */
export function spanOf(timeline: Schemas["Timeline"], nowMs: number): { startMs: number; spanMs: number } {
  const startMs = timeline.start ? Date.parse(timeline.start) : nowMs;
  const lastMs = timeline.stop ? Date.parse(timeline.stop) : nowMs;
  const isRunning = (timeline.ended_ms ?? []).some((each) => each === null);
  return { startMs, spanMs: Math.max(1, (isRunning ? Math.max(lastMs, nowMs) : lastMs) - startMs) };
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
