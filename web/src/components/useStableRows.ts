/** Holds the rows of a list while the pointer is over it or something is selected. */
import { useRef } from "react";
import { holdRows, type StableRows } from "../model/stableRows";

/** `scope`: another page or filter is another list, which is never held back. */
export function useStableRows<T>(
  latest: readonly T[],
  keyOf: (row: T) => string,
  isHeld: boolean,
  scope: string,
): StableRows<T> & { release: () => void } {
  const held = useRef<{ scope: string; order: string[]; seen: Map<string, T> }>({
    scope: "",
    order: [],
    seen: new Map(),
  });
  const take = () => {
    held.current = { scope, order: latest.map(keyOf), seen: new Map(latest.map((row) => [keyOf(row), row])) };
  };
  if (!isHeld || held.current.scope !== scope || held.current.order.length === 0) take();
  return { ...holdRows(held.current.order, held.current.seen, latest, keyOf), release: take };
}
