/** Gives pages the live connection. */
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { Connection, Live } from "../api/live";
import type { LiveEvent } from "../model/liveKeys";

export const LiveContext = createContext<Live | null>(null);

function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error("no live connection above this component");
  return live;
}

export function useConnection(): Connection {
  const live = useLive();
  return useSyncExternalStore(live.subscribe, () => live.connection);
}

/** The newest events since the page opened, newest first. */
export function useRecentEvents(countMax: number, filter: (event: LiveEvent) => boolean): LiveEvent[] {
  const live = useLive();
  const [events, setEvents] = useState<LiveEvent[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new filter function is not a new filter
  useEffect(
    () => live.onEvents((batch) => setEvents((old) => [...batch.filter(filter).reverse(), ...old].slice(0, countMax))),
    [live, countMax],
  );
  return events;
}
