/** The time range of a page, as it stands in its address. Pure. */

/** In the address of the page. */
export interface AnalyticsSearch {
  range?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  namespace?: string | undefined;
}

export interface TimeRange {
  start: string;
  /** Null: until now. */
  stop: string | null;
}

const HOUR_MS = 3_600_000;

export const RANGES: [string, string, number][] = [
  ["15m", "last 15 minutes", 0.25 * HOUR_MS],
  ["1h", "last hour", HOUR_MS],
  ["24h", "last 24 hours", 24 * HOUR_MS],
  ["7d", "last 7 days", 168 * HOUR_MS],
  ["30d", "last 30 days", 720 * HOUR_MS],
];
export const RANGE_DEFAULT = "24h";

/** `from` and `to` win over `range`, where they are times and in order. */
export function rangeOf(search: AnalyticsSearch, nowMs: number): TimeRange {
  const from = search.from === undefined ? Number.NaN : Date.parse(search.from);
  const to = search.to === undefined ? Number.NaN : Date.parse(search.to);
  if (!Number.isNaN(from) && (Number.isNaN(to) ? from < nowMs : from < to)) {
    return { start: new Date(from).toISOString(), stop: Number.isNaN(to) ? null : new Date(to).toISOString() };
  }
  const length = (RANGES.find(([key]) => key === search.range) ?? RANGES.find(([key]) => key === RANGE_DEFAULT))?.[2];
  return { start: new Date(nowMs - (length ?? HOUR_MS)).toISOString(), stop: null };
}

const MINUTE_MS = 60_000;
const STEPS_MAX = 96;

/** How many bars a range has: none is shorter than a minute, for which the leader adds up. */
export function stepsOf({ start, stop }: TimeRange, nowMs: number): number {
  const length = (stop === null ? nowMs : Date.parse(stop)) - Date.parse(start);
  return Math.max(1, Math.min(STEPS_MAX, Math.floor(length / MINUTE_MS)));
}

/** For a field of type `datetime-local`. */
export function localInput(at: string): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

/** The mean of the known values; null without any. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
