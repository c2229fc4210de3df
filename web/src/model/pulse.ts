/** Numbers of the last minutes, for sparklines, collected from events as they come. Pure. */
import type { LiveEvent } from "./liveKeys";
import { countTasks } from "./taskRanges";

export const STEP_S = 5;
const STEPS = 60;

export interface Series {
  started: number[];
  ended: number[];
  failed: number[];
}

const COUNTED: Record<string, keyof Series> = {
  "tasks.started": "started",
  "tasks.placed": "started",
  "tasks.succeeded": "ended",
  "tasks.failed": "failed",
};

/** Tasks for each step of the last five minutes. Short tasks have no event `tasks.started`, so placements count. */
export function pulseOf(events: readonly LiveEvent[], nowMs: number): Series {
  const series: Series = { started: empty(), ended: empty(), failed: empty() };
  for (const event of events) {
    const kind = event.type === "tasks.started" ? undefined : COUNTED[event.type];
    const age = Math.floor((nowMs - Date.parse(event.at)) / 1000 / STEP_S);
    if (!kind || age < 0 || age >= STEPS) continue;
    const step = STEPS - 1 - age;
    series[kind][step] = (series[kind][step] ?? 0) + countTasks(event.tasks);
  }
  return series;
}

function empty(): number[] {
  return new Array<number>(STEPS).fill(0);
}
