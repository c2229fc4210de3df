/** Two texts compared line by line, by their longest common subsequence. Pure. */

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Beyond so many differing lines on both sides, all of them count as removed and added. */
const COMPARED_MAX = 2_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.trimEnd().split("\n");
  const next = after.trimEnd().split("\n");
  let head = 0;
  while (head < old.length && head < next.length && old[head] === next[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, next.length) - head && old.at(-1 - tail) === next.at(-1 - tail)) tail++;
  return [
    ...old.slice(0, head).map((text) => line("same", text)),
    ...middle(old.slice(head, old.length - tail), next.slice(head, next.length - tail)),
    ...old.slice(old.length - tail).map((text) => line("same", text)),
  ];
}

function middle(old: string[], next: string[]): DiffLine[] {
  if (Math.max(old.length, next.length) > COMPARED_MAX) {
    return [...old.map((text) => line("removed", text)), ...next.map((text) => line("added", text))];
  }
  const longest = commonLengths(old, next);
  const found: DiffLine[] = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < next.length) {
    if (a < old.length && b < next.length && old[a] === next[b]) {
      found.push(line("same", old[a] as string));
      a++;
      b++;
    } else if (b >= next.length || (a < old.length && longest(a + 1, b) >= longest(a, b + 1))) {
      found.push(line("removed", old[a++] as string));
    } else {
      found.push(line("added", next[b++] as string));
    }
  }
  return found;
}

/** How many lines the texts have in common from line `a` and line `b` on. */
function commonLengths(old: string[], next: string[]): (a: number, b: number) => number {
  const width = next.length + 1;
  const table = new Uint16Array((old.length + 1) * width);
  const at = (a: number, b: number) => table[a * width + b] as number;
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = next.length - 1; b >= 0; b--) {
      table[a * width + b] = old[a] === next[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1));
    }
  }
  return at;
}

function line(kind: DiffLine["kind"], text: string): DiffLine {
  return { kind, text };
}
