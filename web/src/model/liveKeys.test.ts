import { expect, test } from "vitest";
import { isStale, staleAfter } from "./liveKeys";

const EVENT = { id: "1-0", at: "2026-11-18T20:00:00Z", name: "render" };

test("an event of a job makes its pages and all lists of jobs old", () => {
  const stale = staleAfter([{ ...EVENT, type: "tasks.failed", namespace: "lab", job: "render", node: "n1" }]);
  expect(isStale(["jobs", "", undefined], stale)).toBe(true);
  expect(isStale(["job", "lab", "render@3", "view"], stale)).toBe(true);
  expect(isStale(["job", "lab", "render", "runs"], stale)).toBe(true);
  expect(isStale(["node", "n1", "view"], stale)).toBe(true);
});

test("other jobs, namespaces and subjects stay as they are", () => {
  const stale = staleAfter([{ ...EVENT, type: "tasks.failed", namespace: "lab", job: "render" }]);
  expect(isStale(["job", "default", "render@3"], stale)).toBe(false);
  expect(isStale(["job", "lab", "renderer@3"], stale)).toBe(false);
  expect(isStale(["policies"], stale)).toBe(false);
});
