import { expect, test } from "vitest";
import { appendChunks, decodeOutput, EMPTY_LOG, LINES_MAX, searchLines } from "./logLines";
import { formatBytes, parseAmount, percent } from "./quantities";
import { ServerMessageReader } from "./sse";
import { lookOf, nodeState } from "./states";
import { countTasks } from "./taskRanges";
import { shortDuration } from "./times";

test.each([
  [0.35, "350 ms"], [1.42, "1.4 s"], [59.6, "60 s"], [90, "1.5 min"], [7200, "2 h"], [-1, "0 s"], [Number.NaN, "–"],
])("%s seconds read %s", (seconds, text) => expect(shortDuration(seconds)).toBe(text)); // biome-ignore format: a table

test.each([
  ["500m", 0.5], ["2", 2], ["1Ki", 1024], ["64Gi", 64 * 2 ** 30], ["", 0], ["much", 0],
])("the amount %s is %s", (text, amount) => expect(parseAmount(text)).toBe(amount)); // biome-ignore format: a table

test("a share that is not all is never 100%, and one that is not nothing never 0%", () => {
  expect([percent(999, 1000), percent(1, 1000), percent(0, 1000), percent(1, 0)]).toEqual(["99%", "<1%", "0%", "–"]);
});

test("bytes are read in binary units", () => {
  expect(formatBytes(1536)).toBe("1.5 KiB");
});

test("ranges of tasks are counted with their steps", () => {
  expect([countTasks("3"), countTasks("0-99"), countTasks("1-9:2"), countTasks("1-3,7"), countTasks(null)]).toEqual([
    1, 100, 5, 4, 0,
  ]);
});

test("a state of a newer manager looks unknown, not fine", () => {
  expect(lookOf("hibernating")).toBe("lost");
  expect(nodeState({ state: "ready", eligible: false, reason: "new disk" })).toBe("cordoned");
});

test("output has a limit, and says how much it dropped", () => {
  const text = "line\n".repeat(LINES_MAX + 5);
  const log = appendChunks(EMPTY_LOG, [{ task: "a/0", stream: "stdout", text }]);
  expect([log.lines.length, log.dropped, log.lines[0]?.number]).toEqual([LINES_MAX, 5, 5]);
  expect(searchLines(log.lines, "LINE")).toHaveLength(LINES_MAX);
  expect(decodeOutput("w6k=")).toBe("é");
});

test("a server message ends with a blank line; a comment is none", () => {
  const reader = new ServerMessageReader();
  const messages = ["id: 4-1", "event: job.held", 'data: {"a":1}', "", ": quiet", ""].map((line) => reader.push(line));
  expect(messages.filter(Boolean)).toEqual([{ id: "4-1", data: '{"a":1}' }]);
});
