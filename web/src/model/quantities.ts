/** Amounts of resources as text and numbers: `500m`, `64Gi`. Pure. */

const BINARY: Record<string, number> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
const DECIMAL: Record<string, number> = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const AMOUNT = /^([0-9.]+)([A-Za-z]*)$/;

/** 0 for what is no amount. */
export function parseAmount(text: string | undefined): number {
  const found = AMOUNT.exec(text ?? "");
  if (!found) return 0;
  const unit = found[2] ?? "";
  return Number(found[1]) * (BINARY[unit] ?? DECIMAL[unit] ?? 1);
}

export function formatBytes(bytes: number): string {
  const units = Object.entries(BINARY).reverse();
  for (const [unit, size] of units) if (bytes >= size) return `${shortNumber(bytes / size)} ${unit}B`;
  return `${Math.round(bytes)} B`;
}

export function shortNumber(value: number): string {
  return value >= 100 ? Math.round(value).toString() : Number(value.toPrecision(3)).toString();
}

export function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

/** `1 task`, `1,204 tasks`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const value = (100 * part) / whole;
  if (value > 99 && value < 100) return "99%";
  if (value > 0 && value < 1) return "<1%";
  return `${Math.round(value)}%`;
}

/** An amount of a resource for people: memory and disk in bytes, everything else as a number. */
export function formatResource(kind: string, amount: number): string {
  return kind === "memory" || kind === "disk" ? formatBytes(amount) : shortNumber(amount);
}

/** `it waits` as the beginning of a sentence. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
