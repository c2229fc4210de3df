import { expect, test } from "vitest";
import { barsOf, differences, nearestTo, shareOf } from "./flightBars";

const FLIGHT = {
  ids: ["1.1", "1.2", "1.3"],
  at_ms: [1000, 1100, 2000],
  placed: [2, 3, 4],
  preempted: [0, 1, 0],
  left: [7, 5, 0],
};

test("decisions that are near in time share a bar", () => {
  const bars = barsOf(FLIGHT, 4);
  expect(bars[0]).toEqual({ from: 0, to: 2, placed: 5, preempted: 1, left: 7 });
  expect(bars[3]).toEqual({ from: 2, to: 3, placed: 4, preempted: 0, left: 0 });
  expect(bars[1]?.to).toBe(0);
});

test("a place leads to the nearest decision", () => {
  expect([0, 0.09, 0.5, 0.6, 1].map((share) => nearestTo(FLIGHT, share))).toEqual([0, 1, 1, 2, 2]);
  expect(nearestTo({ ...FLIGHT, at_ms: [] }, 0.5)).toBe(-1);
  expect(shareOf(FLIGHT, 1500)).toBe(0.5);
});

test("only nodes with another number of tasks differ", () => {
  const recorded = [
    { node: "a", count: 2 },
    { node: "b", count: 1 },
    { node: "z", count: 5, preempted: true },
  ];
  const replayed = [
    { node: "a", count: 1 },
    { node: "a", count: 1 },
    { node: "c", count: 1 },
  ];
  expect(differences(recorded, replayed)).toEqual([
    { node: "b", recorded: 1, replayed: 0 },
    { node: "c", recorded: 0, replayed: 1 },
  ]);
});
