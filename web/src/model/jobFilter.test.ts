import { expect, test } from "vitest";
import { parseFilter, toggleWord } from "./jobFilter";

test("words with a field become filters, and the rest is the text", () => {
  const filter = parseFilter("state:waiting label:team=film user:ana queue:night ns:lab render big");
  expect(filter).toMatchObject({
    states: ["pending"],
    labels: ["team=film"],
    user: "ana",
    queue: "night",
    namespace: "lab",
    text: "render big",
  });
});

test("without a namespace, jobs of all namespaces are listed", () => {
  expect(parseFilter("").namespace).toBe("*");
});

test("a word that is there is taken away, and one that is not is added", () => {
  expect(toggleWord("a state:failed", "state:failed")).toBe("a");
  expect(toggleWord("a", "state:failed")).toBe("a state:failed");
});
