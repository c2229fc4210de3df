/** Times as people read them: local, short, with UTC for the hover. Pure: the clock is an argument. */

const UNITS: [number, string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** `3 d`, `2 h`, `5 min`, `12 s`, `350 ms`. */
export function shortDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0) return "0 s";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  for (const [size, unit] of UNITS) if (seconds >= size) return withNext(seconds, size, unit);
  return "0 s";
}

/** One decimal below ten: 1.4 s, 2.5 h. */
function withNext(seconds: number, size: number, unit: string): string {
  const value = seconds / size;
  return `${value < 9.95 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

export function secondsBetween(start: string, stop: string | number): number {
  return ((typeof stop === "number" ? stop : Date.parse(stop)) - Date.parse(start)) / 1000;
}

/** `14:20:05` today, else `Nov 17, 14:20`. */
export function localTime(at: string, nowMs: number): string {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date(nowMs).toDateString();
  return isToday
    ? time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
    : time.toLocaleString([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
}

/** `2026-11-18 14:20:05 UTC`. */
export function utcTime(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
