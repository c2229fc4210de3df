import { expect, test } from "vitest";
import { labelKeyOf, matchesNode } from "./nodeFilter";
import { readNodeMap } from "./nodeView";

const NODES = readNodeMap({
  names: ["a", "b", "c"],
  states: [0, 0, 1],
  state_names: ["ready", "down"],
  groups: [0, 1, 1],
  group_names: ["zone=x", "zone=y"],
  eligible: [true, false, true],
  tasks: [3, 0, 0],
  cpu: [250, 0, 0],
  memory: [500, 0, 0],
  disk: [0, 0, 0],
  busy: [100, 0, 0],
  reasons: { b: "quarantined: 3 failures in a row" },
  state_version: 1,
});

test("the columns of the manager become tiles with their states and shares", () => {
  expect(NODES.map((node) => node.state)).toEqual(["ready", "quarantined", "down"]);
  expect([NODES[0]?.cpu, NODES[0]?.memory, NODES[0]?.load]).toEqual([0.25, 0.5, 0.5]);
});

test("every word of the filter must match the name, the state or the group", () => {
  const found = (text: string) => NODES.filter((node) => matchesNode(node, text)).map((node) => node.name);
  expect(found("zone=y")).toEqual(["b", "c"]);
  expect(found("zone=y down")).toEqual(["c"]);
});

test("a filter by label names the label", () => {
  expect(labelKeyOf("ready zone=x")).toBe("zone");
  expect(labelKeyOf("node-7")).toBeUndefined();
});
