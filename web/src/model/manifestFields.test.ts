import { expect, test } from "vitest";
import { completionsAt, mistakesOf } from "./manifestFields";

const JOB = "apiVersion: shunter.dev/v1\nkind: Job\n";
const labels = (text: string) => completionsAt(text, text.length).map((each) => each.label);

test("the outermost line completes the parts of a manifest", () => {
  expect(labels(JOB)).toEqual(["apiVersion", "kind", "metadata", "spec"]);
});

test("an indented line completes the fields of what is above it", () => {
  expect(labels(`${JOB}spec:\n  `)).toEqual(expect.arrayContaining(["command", "count", "restart"]));
  expect(labels(`${JOB}spec:\n  count: 3\n  restart:\n    po`)).toContain("policy");
});

test("a value completes the words that the field allows", () => {
  expect(labels(`${JOB}spec:\n  type: `)).toEqual(["batch", "service", "system", "sysbatch"]);
});

test("an item of a list completes the fields of items", () => {
  expect(labels(`${JOB}spec:\n  groups:\n    - `)).toContain("command");
});

test("another document has the fields of its own kind", () => {
  expect(labels(`${JOB}---\napiVersion: batchjob.gcr.io/v1alpha1\nkind: Testbed\nspec:\n  `)).toContain("slotsPerNode");
});

test("nothing is completed inside a value", () => {
  expect(labels(`${JOB}spec:\n  command: [sh, -c, "echo`)).toEqual([]);
});

test("a field that does not exist and a word that does not fit are marked where they stand", () => {
  const text = `${JOB}spec: {comand: [true], type: bach}\n`;
  const found = mistakesOf(text);
  expect(found.map((each) => each.message)).toEqual([
    "spec.comand: there is no such field",
    "spec.type: one of batch, service, system, sysbatch",
  ]);
  expect(found.map((each) => text.slice(each.from, each.to))).toEqual(["comand", "bach"]);
});

test("maps with names of their own are not marked", () => {
  expect(mistakesOf(`${JOB}metadata: {labels: {team: film}}\nspec: {env: {A: b}, resources: {gpu: 1}}\n`)).toEqual([]);
});
