/** Rows that do not move: while the pointer or the selection is in a list, its rows stay, and only their content
 * changes. Pure. */

export interface StableRows<T> {
  rows: T[];
  /** Rows that came since, and are not in the list yet. */
  added: number;
}

/** `order`: keys of the rows on the screen. A row that is no longer in `latest` stays as it was last seen. */
export function holdRows<T>(
  order: readonly string[],
  seen: ReadonlyMap<string, T>,
  latest: readonly T[],
  keyOf: (row: T) => string,
): StableRows<T> {
  const now = new Map(latest.map((row) => [keyOf(row), row]));
  const rows = order.map((key) => now.get(key) ?? seen.get(key)).filter((row) => row !== undefined);
  const held = new Set(order);
  return { rows, added: latest.filter((row) => !held.has(keyOf(row))).length };
}
