/** A manifest as text and as documents. The form reads and writes single fields, and leaves the rest, comments too, as
 * they are. Pure. */
import { isMap, parseAllDocuments, parseDocument } from "yaml";

export type Path = readonly string[];

export interface ParsedManifest {
  documents: Record<string, unknown>[];
  problem: string | null;
}

export function parseManifest(text: string): ParsedManifest {
  const found = parseAllDocuments(text);
  const documents = (Array.isArray(found) ? found : []).filter((document) => document.contents !== null);
  const error = documents.flatMap((document) => document.errors)[0];
  if (error) return { documents: [], problem: error.message.split("\n")[0] ?? error.message };
  if (documents.length === 0) return { documents: [], problem: "the manifest is empty" };
  if (!documents.every((document) => isMap(document.contents)))
    return { documents: [], problem: "a manifest is a mapping" };
  return { documents: documents.map((document) => document.toJS()), problem: null };
}

/** The field as the form shows it; "" where it is missing. */
export function readField(document: Record<string, unknown> | undefined, path: Path): string {
  let value: unknown = document;
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name];
  if (value === undefined || value === null) return "";
  if (Array.isArray(value))
    return value.every((word) => typeof word === "string") ? joinWords(value) : JSON.stringify(value);
  return String(value);
}

/** The text with one field of its only document changed; "" removes the field. */
export function writeField(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text);
  if (value === "" || value === null) document.deleteIn(path);
  else document.setIn(path, document.createNode(value, { flow: Array.isArray(value) }));
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

const QUOTED = /"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g;

/** `sh -c "echo hi"` as words, with the quotes of a shell. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(QUOTED)].map((found) => found[1]?.replaceAll(/\\(.)/g, "$1") ?? found[2] ?? found[3] ?? "");
}

export function joinWords(words: readonly string[]): string {
  return words.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : `"${word.replaceAll(/(["\\])/g, "\\$1")}"`)).join(" ");
}
