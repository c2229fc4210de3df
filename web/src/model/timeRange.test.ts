import { expect, test } from "vitest";
import { localInput, meanOf, rangeOf, stepsOf } from "./timeRange";

const NOW = Date.parse("2026-11-18T12:00:00Z");

test("a range ends now unless it has an end", () => {
  expect(rangeOf({ range: "1h" }, NOW)).toEqual({ start: "2026-11-18T11:00:00.000Z", stop: null });
  expect(rangeOf({}, NOW).start).toBe("2026-11-17T12:00:00.000Z");
  expect(rangeOf({ from: "2026-11-18T10:00Z", to: "2026-11-18T11:00Z", range: "7d" }, NOW)).toEqual({
    start: "2026-11-18T10:00:00.000Z",
    stop: "2026-11-18T11:00:00.000Z",
  });
});

test("times that are none, or in the wrong order, fall back to the range", () => {
  expect(rangeOf({ from: "nonsense", range: "1h" }, NOW).start).toBe("2026-11-18T11:00:00.000Z");
  expect(rangeOf({ from: "2026-11-18T11:00Z", to: "2026-11-18T10:00Z", range: "1h" }, NOW).stop).toBe(null);
});

test("a field shows local time", () => {
  const at = "2026-11-18T10:30:00.000Z";
  expect(Date.parse(localInput(at))).toBe(Date.parse(at));
});

test("unknown values do not count", () => {
  expect(meanOf([null, 1, 3])).toBe(2);
  expect(meanOf([null])).toBe(null);
});

test("no bar is shorter than a minute", () => {
  expect(stepsOf(rangeOf({ range: "15m" }, NOW), NOW)).toBe(15);
  expect(stepsOf(rangeOf({ range: "7d" }, NOW), NOW)).toBe(96);
  expect(stepsOf({ start: new Date(NOW - 1000).toISOString(), stop: null }, NOW)).toBe(1);
});
