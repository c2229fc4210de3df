/** The output of a job as it is written: NDJSON from the manager, given on in batches. */
import { decodeOutput, type LogChunk } from "../model/logLines";
import { apiAddress } from "./address";
import { readLines } from "./lines";
import { readError } from "./problems";
import type { JobKey } from "./queries";

export interface LogQuery {
  group?: string[];
  index?: string;
  tail?: number;
  grep?: string;
  stream?: string[];
  follow?: boolean;
}

export interface LogEnd {
  tasks: number;
  left_out?: { reason: string; tasks: number }[];
  missing?: { reason: string; tasks: number }[];
}

interface Line {
  log?: { task: string; stream: string; data: string };
  end?: LogEnd;
}

interface LogHandlers {
  onChunks: (chunks: LogChunk[]) => void;
  onEnd: (end: LogEnd) => void;
}

const BATCH_MS = 100;

/** Reads until the end of the output, or until `signal` stops it. Raises ApiError. */
export async function streamLogs(
  key: JobKey,
  query: LogQuery,
  signal: AbortSignal,
  handlers: LogHandlers,
): Promise<void> {
  const address = apiAddress(`/jobs/${encodeURIComponent(key.job)}/logs`, {
    namespace: key.namespace,
    group: query.group,
    index: query.index || undefined,
    tail: query.tail === undefined ? undefined : String(query.tail),
    grep: query.grep || undefined,
    stream: query.stream,
    follow: query.follow ? "true" : undefined,
  });
  const response = await fetch(address, { credentials: "same-origin", signal });
  if (!response.ok) throw await readError(response);
  let pending: LogChunk[] = [];
  const flush = () => {
    if (pending.length > 0) handlers.onChunks(pending);
    pending = [];
  };
  const timer = setInterval(flush, BATCH_MS);
  try {
    for await (const text of readLines(response)) {
      if (!text) continue;
      const line = JSON.parse(text) as Line;
      if (line.log) pending.push({ task: line.log.task, stream: line.log.stream, text: decodeOutput(line.log.data) });
      if (line.end) {
        flush();
        handlers.onEnd(line.end);
      }
    }
  } finally {
    clearInterval(timer);
    flush();
  }
}
