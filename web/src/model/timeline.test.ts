import { expect, test } from "vitest";
import { attemptBars, spanOf } from "./timeline";

const START = Date.parse("2026-01-01T00:00:00Z");
const TIMELINE = {
  name: "render@1",
  start: "2026-01-01T00:00:00Z",
  stop: "2026-01-01T00:00:10Z",
  step_s: 5,
  running: [1, 2],
  total: 3,
  indexes: [4, 5],
  groups: ["main", "main"],
  attempts: [1, 2],
  nodes: ["node-1", "node-2"],
  states: ["failed", "running"],
  started_ms: [START, START + 5_000],
  ended_ms: [START + 5_000, null],
};

test("a bar has its share of the time from the first start until now", () => {
  const [first, second] = attemptBars(TIMELINE, START + 20_000);
  expect([first?.left, first?.width]).toEqual([0, 0.25]);
  expect([second?.left, second?.width]).toEqual([0.25, 0.75]);
  expect(second?.path).toBe("main/5");
});

test("the time ends with the last attempt when none runs any more", () => {
  const ended = { ...TIMELINE, ended_ms: [START + 5_000, START + 10_000] };
  expect(spanOf(ended, START + 99_000).spanMs).toBe(10_000);
});

test("an attempt of no length is still to be seen", () => {
  const instant = { ...TIMELINE, started_ms: [START + 10_000], ended_ms: [START + 10_000] };
  const [bar] = attemptBars(instant, START + 10_000);
  expect(bar?.width).toBeGreaterThan(0);
  expect((bar?.left ?? 1) + (bar?.width ?? 1)).toBeLessThanOrEqual(1);
});
