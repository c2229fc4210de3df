import { expect, test } from "vitest";
import { assign, EMPTY_DRAFT, enqueue, isEmpty, moveBy, removeAt, schedulingOf } from "./slotBoard";

const TESTBED = { name: "bench", namespace: "lab" };

test("slots become jobs in the order in which they were placed", () => {
  const draft = assign(assign(assign(EMPTY_DRAFT, 3, "lab/b"), 0, "lab/a"), 1, "lab/b");
  expect(schedulingOf(draft, "s", TESTBED).spec).toEqual({
    slotBased: {
      mode: "strict",
      jobs: [
        { name: { name: "b", namespace: "lab" }, slotIds: [1, 3] },
        { name: { name: "a", namespace: "lab" }, slotIds: [0] },
      ],
    },
    testbed: TESTBED,
  });
});

test("a job without a slot leaves the order", () => {
  const draft = assign(assign(EMPTY_DRAFT, 0, "lab/a"), 0, null);
  expect(isEmpty(draft)).toBe(true);
  expect(draft.order).toEqual([]);
});

test("a queue repeats, reorders and drops entries", () => {
  const draft = ["lab/a", "lab/b", "lab/a"].reduce(enqueue, { ...EMPTY_DRAFT, mode: "queue" as const });
  expect(moveBy(draft, 1, -1).queue).toEqual(["lab/b", "lab/a", "lab/a"]);
  expect(moveBy(draft, 0, -1).queue).toEqual(draft.queue);
  expect(removeAt(draft, 1).queue).toEqual(["lab/a", "lab/a"]);
});
