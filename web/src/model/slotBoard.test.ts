import { expect, test } from "vitest";
import {
  assign,
  draftOf,
  EMPTY_DRAFT,
  enqueue,
  freeName,
  isEmpty,
  jobsAt,
  moved,
  neighbour,
  schedulingOf,
  unassign,
  without,
} from "./slotBoard";

const TESTBED = { name: "bench", namespace: "lab" };
const KEY = { name: "s", namespace: "lab" };

test("slots become jobs in the order in which they were placed", () => {
  const draft = assign(assign(assign(EMPTY_DRAFT, 3, "lab/b"), 0, "lab/a"), 1, "lab/b");
  expect(schedulingOf(draft, KEY, TESTBED).spec).toEqual({
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

test("a slot may serve several jobs, one after the other, and each only once", () => {
  const draft = assign(assign(assign(EMPTY_DRAFT, 0, "lab/a"), 0, "lab/b"), 0, "lab/a");
  expect(jobsAt(draft, 0)).toEqual(["lab/a", "lab/b"]);
  expect(jobsAt(unassign(draft, 0, "lab/a"), 0)).toEqual(["lab/b"]);
});

test("a job without a slot leaves the order", () => {
  expect(isEmpty(unassign(assign(EMPTY_DRAFT, 0, "lab/a"), 0, "lab/a"))).toBe(true);
});

test("a queue repeats, takes entries in the middle, reorders and drops them", () => {
  const draft = enqueue(enqueue({ ...EMPTY_DRAFT, mode: "queue" }, "lab/a"), "lab/b");
  const three = enqueue(draft, "lab/b", 1).queue;
  expect(three).toEqual(["lab/a", "lab/b", "lab/b"]);
  expect(moved(three, 0, 2)).toEqual(["lab/b", "lab/b", "lab/a"]);
  expect(moved(three, 0, -1)).toBe(three);
  expect(without(three, 0)).toEqual(["lab/b", "lab/b"]);
});

test("an existing Scheduling becomes the draft that makes it again", () => {
  const slots = assign(assign(EMPTY_DRAFT, 2, "lab/b"), 1, "lab/a");
  const queue = enqueue(enqueue({ ...EMPTY_DRAFT, mode: "queue" }, "lab/a"), "lab/a");
  for (const draft of [slots, queue]) {
    const { spec } = schedulingOf(draft, KEY, TESTBED) as { spec: Record<string, unknown> };
    expect(draftOf(spec, "lab")).toEqual(draft);
  }
});

test("arrows follow the numbers sideways and the nodes up and down", () => {
  const rows = [
    [0, 2, 4],
    [1, 3],
  ];
  expect(neighbour(rows, 2, "ArrowRight")).toBe(4);
  expect(neighbour(rows, 4, "ArrowDown")).toBe(3);
  expect(neighbour(rows, 3, "ArrowUp")).toBe(2);
  expect(neighbour(rows, 0, "ArrowLeft")).toBe(null);
  expect(neighbour(rows, 0, "End")).toBe(3);
});

test("a new Scheduling gets a name of its own", () => {
  expect(freeName(["by-hand", "by-hand-2"])).toBe("by-hand-3");
});
