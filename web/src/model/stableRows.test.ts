import { expect, test } from "vitest";
import { holdRows } from "./stableRows";

const keyOf = (row: { id: string }) => row.id;

test("held rows stay in their place, show new content, and count what came since", () => {
  const seen = new Map([
    ["a", { id: "a", state: "running" }],
    ["b", { id: "b", state: "running" }],
  ]);
  const latest = [
    { id: "c", state: "pending" },
    { id: "b", state: "failed" },
  ];
  expect(holdRows(["a", "b"], seen, latest, keyOf)).toEqual({
    rows: [
      { id: "a", state: "running" },
      { id: "b", state: "failed" },
    ],
    added: 1,
  });
});
