/** Recorded decisions as bars over time: neighbours in time share a bar where there are more than fit. Pure. */

export interface FlightColumns {
  ids: readonly string[];
  at_ms: readonly number[];
  placed: readonly number[];
  preempted: readonly number[];
  left: readonly number[];
}

export interface Bar {
  /** Positions of its decisions: from the first to before the last. */
  from: number;
  to: number;
  placed: number;
  preempted: number;
  left: number;
}

/** At most `bars` of them, over the whole time. `left` is the largest of a bar: the same tasks are left again and again. */
export function barsOf(flight: FlightColumns, bars: number): Bar[] {
  const { start, span } = timeOf(flight);
  const found: Bar[] = Array.from({ length: bars }, () => ({ from: 0, to: 0, placed: 0, preempted: 0, left: 0 }));
  for (const [position, at] of flight.at_ms.entries()) {
    const bar = found[Math.min(bars - 1, Math.floor(((at - start) / span) * bars))] as Bar;
    if (bar.to === 0) bar.from = position;
    bar.to = position + 1;
    bar.placed += flight.placed[position] ?? 0;
    bar.preempted += flight.preempted[position] ?? 0;
    bar.left = Math.max(bar.left, flight.left[position] ?? 0);
  }
  return found;
}

/** Where a time is, 0 to 1. */
export function shareOf(flight: FlightColumns, atMs: number): number {
  const { start, span } = timeOf(flight);
  return Math.min(1, Math.max(0, (atMs - start) / span));
}

/** The decision nearest to a place between 0 and 1; -1 without any. */
export function nearestTo(flight: FlightColumns, share: number): number {
  const { start, span } = timeOf(flight);
  const wanted = start + share * span;
  let low = 0;
  let high = flight.at_ms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((flight.at_ms[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  const before = flight.at_ms[low - 1];
  const after = flight.at_ms[low];
  if (after === undefined) return low - 1;
  return before !== undefined && wanted - before < after - wanted ? low - 1 : low;
}

function timeOf({ at_ms }: FlightColumns): { start: number; span: number } {
  const start = at_ms[0] ?? 0;
  return { start, span: Math.max(1, (at_ms.at(-1) ?? 0) - start) };
}

export interface Item {
  node: string;
  count: number;
  preempted?: boolean;
}

export interface NodeDifference {
  node: string;
  recorded: number;
  replayed: number;
}

/** Where two decisions put a different number of tasks, by node. */
export function differences(recorded: readonly Item[], replayed: readonly Item[]): NodeDifference[] {
  const nodes = new Map<string, NodeDifference>();
  const add = (items: readonly Item[], side: "recorded" | "replayed") => {
    for (const item of items) {
      if (item.preempted) continue;
      const row = nodes.get(item.node) ?? { node: item.node, recorded: 0, replayed: 0 };
      row[side] += item.count;
      nodes.set(item.node, row);
    }
  };
  add(recorded, "recorded");
  add(replayed, "replayed");
  return [...nodes.values()].filter((row) => row.recorded !== row.replayed).sort((a, b) => (a.node < b.node ? -1 : 1));
}
