import { expect, test } from "vitest";
import { cellsOf, pan, roomFor, zoom } from "./heatCells";
import { LOOKS } from "./states";

test("one failure among many is visible, although most succeeded", () => {
  const [cell] = cellsOf({ succeeded: [243], failed: [1] }, 1);
  expect(cell).toEqual({ look: LOOKS.indexOf("succeeded"), hasFailed: true });
});

test("states that look alike are counted together", () => {
  const [cell] = cellsOf({ waiting: [3], queued: [3], succeeded: [5] }, 1);
  expect(cell?.look).toBe(LOOKS.indexOf("waiting"));
});

test("zooming in and out again around a task shows all tasks again", () => {
  const all = { from: 0, to: 1_000_000 };
  const closer = zoom(all, 1_000_000, 250_000, 1);
  expect(closer).toEqual({ from: 125_000, to: 625_000 });
  expect(zoom(closer, 1_000_000, 250_000, -1)).toEqual(all);
});

test("no zoom and no move leaves the tasks", () => {
  expect(zoom({ from: 0, to: 20 }, 20, 10, 1)).toEqual({ from: 2, to: 18 });
  expect(pan({ from: 80, to: 100 }, 100, 50)).toEqual({ from: 80, to: 100 });
  expect(pan({ from: 5, to: 25 }, 100, -50)).toEqual({ from: 0, to: 20 });
});

test("at least one cell fits into any place", () => {
  expect(roomFor(1, 1)).toEqual({ columns: 1, cells: 1 });
});
