/** What the schemas of manifests say at a place of a text: which fields and words fit there, and what does not fit. Pure;
 * the editor of the page "Create" uses it. The manager checks everything again. */
import { isMap, isScalar, isSeq, type Node, parseAllDocuments, type Range } from "yaml";
import KINDS from "./manifestFields.json";

export interface FieldSchema {
  about?: string;
  words?: string[];
  fields?: Record<string, FieldSchema>;
  /** Whether other fields are refused. */
  closed?: boolean;
}

export interface Completion {
  label: string;
  about: string;
  isField: boolean;
}

export interface Mistake {
  from: number;
  to: number;
  message: string;
}

const SCHEMAS = KINDS as Record<string, FieldSchema>;
const DOCUMENT_START = /^---/;
const KEY = /^(\s*(?:- +)*)([\w.-]+):(?:\s|$)/;
const VALUE = /^\s*(?:- +)*([\w.-]+):\s+([\w.-]*)$/;
const NAME = /^\s*(?:- +)*([\w.-]*)$/;

/** What fits at `position`, for block style; nothing inside braces and lists. */
export function completionsAt(text: string, position: number): Completion[] {
  const lines = text.slice(0, position).split("\n");
  const line = lines.pop() ?? "";
  const above = lines.slice(lines.findLastIndex((each) => DOCUMENT_START.test(each)) + 1);
  const schema = SCHEMAS[kindOf(text, position)];
  if (!schema) return [];
  const value = VALUE.exec(line);
  const parent = schemaAt(schema, pathOf(above, indentOf(line)));
  if (value)
    return (parent?.fields?.[value[1] ?? ""]?.words ?? []).map((label) => ({ label, about: "", isField: false }));
  if (!NAME.test(line)) return [];
  const fields = Object.entries(parent?.fields ?? {});
  return fields.map(([label, each]) => ({ label, about: each.about ?? "", isField: true }));
}

/** Fields that the manager would refuse, and words that it does not know. */
export function mistakesOf(text: string): Mistake[] {
  const found = parseAllDocuments(text);
  const mistakes: Mistake[] = [];
  for (const document of Array.isArray(found) ? found : []) {
    const kind = document.get("kind");
    const schema = SCHEMAS[typeof kind === "string" ? kind : ""];
    if (schema && document.errors.length === 0) check(document.contents as Node | null, schema, "", mistakes);
  }
  return mistakes;
}

function check(node: Node | null, schema: FieldSchema, path: string, mistakes: Mistake[]): void {
  if (isSeq(node)) for (const item of node.items) check(item as Node, schema, path, mistakes);
  if (isScalar(node) && schema.words && !schema.words.includes(String(node.value))) {
    mistakes.push(mistake(node, `${path}: one of ${schema.words.join(", ")}`));
  }
  if (!isMap(node) || !schema.fields) return;
  for (const pair of node.items) {
    const key = pair.key as Node;
    const name = isScalar(key) ? String(key.value) : "";
    const field = schema.fields[name];
    const full = path ? `${path}.${name}` : name;
    if (field) check(pair.value as Node | null, field, full, mistakes);
    else if (schema.closed) mistakes.push(mistake(key, `${full}: there is no such field`));
  }
}

function mistake(node: Node, message: string): Mistake {
  const [from, to] = (node.range as Range | null | undefined) ?? [0, 0, 0];
  return { from, to, message };
}

/** Of the document around the position; a text without a kind is taken for a job. */
function kindOf(text: string, position: number): string {
  const start = text.lastIndexOf("\n---", position - 1);
  const end = text.indexOf("\n---", position);
  const found = /^kind:\s*(\w+)/m.exec(text.slice(Math.max(0, start), end < 0 ? undefined : end));
  return found?.[1] ?? "Job";
}

/** The fields around a line, outermost first: those of the lines above with a smaller indent. */
function pathOf(above: readonly string[], indent: number): string[] {
  const path: string[] = [];
  let inner = indent;
  for (const line of [...above].reverse()) {
    const key = KEY.exec(line);
    const at = key ? (key[1] ?? "").length : inner;
    if (!key || at >= inner) continue;
    path.unshift(key[2] ?? "");
    inner = at;
  }
  return path;
}

function schemaAt(schema: FieldSchema, path: readonly string[]): FieldSchema | undefined {
  return path.reduce<FieldSchema | undefined>((found, name) => found?.fields?.[name], schema);
}

/** A dash of a list counts as indent: `- name` is as deep as a `name` below it. */
function indentOf(line: string): number {
  return /^\s*(?:- +)*/.exec(line)?.[0].length ?? 0;
}
