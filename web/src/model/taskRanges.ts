/** Ranges of task indexes as text: `3`, `0-99`, `1-9:2`. Pure. */

const RANGE = /^(\d+)(?:-(\d+))?(?::(\d+))?$/;

/** How many tasks a list of ranges names; 0 without one. */
export function countTasks(text: string | null | undefined): number {
  let count = 0;
  for (const part of (text ?? "").split(",")) {
    const found = RANGE.exec(part.trim());
    if (!found) continue;
    const first = Number(found[1]);
    const last = found[2] === undefined ? first : Number(found[2]);
    count += Math.floor((last - first) / Number(found[3] ?? 1)) + 1;
  }
  return count;
}
