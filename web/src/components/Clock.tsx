/** Times that stay true: one timer for the page, local time with UTC on hover. */
import { useSyncExternalStore } from "react";
import { localTime, secondsBetween, shortDuration, utcTime } from "../model/times";

const TICK_MS = 1000;
let nowMs = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time now, to the second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={utcTime(at)}>
      {localTime(at, now)}
    </time>
  );
}

/** How long something took, or has taken so far. */
export function Elapsed({ start, stop }: { start: string | null | undefined; stop?: string | null }) {
  const now = useNow();
  if (!start) return <span className="muted">–</span>;
  const title = `${utcTime(start)} – ${stop ? utcTime(stop) : "now"}`;
  return <span title={title}>{shortDuration(secondsBetween(start, stop ?? now))}</span>;
}

export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={utcTime(at)}>
      {shortDuration(secondsBetween(at, now))} ago
    </time>
  );
}
