/** Log output as lines for the screen, with a limit: the oldest go first, and how many went is counted. Pure. */

export interface LogLine {
  /** Counts from the first line that was read. */
  number: number;
  task: string;
  stream: string;
  text: string;
}

export interface LogBuffer {
  lines: LogLine[];
  dropped: number;
}

export const LINES_MAX = 20_000;
export const EMPTY_LOG: LogBuffer = { lines: [], dropped: 0 };

export interface LogChunk {
  task: string;
  stream: string;
  text: string;
}

/** A new buffer with the lines of the chunks at its end. */
export function appendChunks(buffer: LogBuffer, chunks: readonly LogChunk[]): LogBuffer {
  const lines = buffer.lines.slice();
  let number = buffer.dropped + buffer.lines.length;
  for (const { task, stream, text } of chunks) {
    for (const line of text.replace(/\n$/, "").split("\n")) lines.push({ number: number++, task, stream, text: line });
  }
  const surplus = Math.max(0, lines.length - LINES_MAX);
  return { lines: surplus > 0 ? lines.slice(surplus) : lines, dropped: buffer.dropped + surplus };
}

export function searchLines(lines: readonly LogLine[], text: string): LogLine[] {
  const wanted = text.toLowerCase();
  return wanted === "" ? [...lines] : lines.filter((line) => line.text.toLowerCase().includes(wanted));
}

/** Base64 of UTF-8, as the API sends output. Bytes that are no text become a replacement character. */
export function decodeOutput(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
