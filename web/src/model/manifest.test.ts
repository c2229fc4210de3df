import { expect, test } from "vitest";
import { joinWords, parseManifest, readField, splitWords, writeField } from "./manifest";
import { TEMPLATES } from "./manifestTemplates";

test("changing one field leaves the others and the comments", () => {
  const text = "# mine\nspec:\n  count: 1 # few\n  command: [a]\n";
  const changed = writeField(text, ["spec", "count"], 5);
  expect(changed).toContain("# mine");
  expect(changed).toContain("command: [a]");
  expect(parseManifest(changed).documents[0]).toEqual({ spec: { count: 5, command: ["a"] } });
});

test("an empty field is removed", () => {
  expect(parseManifest(writeField("spec: {queue: night, count: 2}", ["spec", "queue"], "")).documents[0]).toEqual({
    spec: { count: 2 },
  });
});

test("words survive the way through the form", () => {
  for (const words of [["sh", "-c", 'echo "hi there" $X'], ["a\\b", "it's"], ["plain"]]) {
    expect(splitWords(joinWords(words))).toEqual(words);
  }
});

test("what is no mapping, or no YAML, has a problem and no documents", () => {
  expect(parseManifest("- a").problem).toBe("a manifest is a mapping");
  expect(parseManifest("a: [").problem).toBeTruthy();
  expect(parseManifest("").problem).toBe("the manifest is empty");
});

test("every template can be parsed, and names its kind", () => {
  for (const template of TEMPLATES) {
    const { documents, problem } = parseManifest(template.text);
    expect(problem).toBeNull();
    expect(readField(documents[0], ["kind"])).not.toBe("");
  }
});
