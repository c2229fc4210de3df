import { expect, test } from "vitest";
import { diffLines } from "./lineDiff";

const short = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

test("equal texts have no difference", () => {
  expect(short("a\nb\n", "a\nb")).toEqual([" a", " b"]);
});

test("a changed line is removed and added, in its place", () => {
  expect(short("name: a\ncount: 2\ncpu: 1", "name: a\ncount: 3\ncpu: 1")).toEqual([
    " name: a",
    "-count: 2",
    "+count: 3",
    " cpu: 1",
  ]);
});

test("lines in common stay between lines that differ", () => {
  expect(short("a\nx\nb\ny", "a\nb\nz\ny")).toEqual([" a", "-x", " b", "+z", " y"]);
});

test("one text of many lines instead of another is compared in bounded time", () => {
  const lines = (prefix: string) => Array.from({ length: 5_000 }, (_, index) => `${prefix}${index}`).join("\n");
  expect(diffLines(lines("a"), lines("b"))).toHaveLength(10_000);
});
