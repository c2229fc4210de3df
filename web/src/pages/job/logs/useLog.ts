/** Reads output while its view is open, and holds what was read. */
import { useEffect, useMemo, useRef, useState } from "react";
import { type LogEnd, type LogQuery, streamLogs } from "../../../api/logs";
import type { JobKey } from "../../../api/queries";
import { appendChunks, EMPTY_LOG, type LogLine, searchLines } from "../../../model/logLines";
import { plural } from "../../../model/quantities";

export interface LogState {
  lines: LogLine[];
  dropped: number;
  gaps: string[];
  tail: number | undefined;
  error: unknown;
  isOpen: boolean;
  isFollowing: boolean;
  isAtEnd: boolean;
  search: string;
  stream: string;
  emptyReason: string;
  setSearch: (text: string) => void;
  setStream: (stream: string) => void;
  setFollowing: (isFollowing: boolean) => void;
  noteScroll: (isAtEnd: boolean) => void;
  restart: () => void;
}

export function useLog(key: JobKey, query: LogQuery): LogState {
  const [buffer, setBuffer] = useState(EMPTY_LOG);
  const [end, setEnd] = useState<LogEnd | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isOpen, setOpen] = useState(true);
  const [isFollowing, setFollowing] = useState(true);
  const [isAtEnd, setAtEnd] = useState(true);
  const [search, setSearch] = useState("");
  const [stream, setStream] = useState("");
  const [round, setRound] = useState(0);
  const text = JSON.stringify([key, query, stream, isFollowing, round]);
  const latest = useRef({ key, query });
  latest.current = { key, query };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has all that the stream depends on
  useEffect(() => {
    const abort = new AbortController();
    setBuffer(EMPTY_LOG);
    setEnd(null);
    setError(null);
    setOpen(true);
    const asked = { ...latest.current.query, follow: isFollowing, ...(stream ? { stream: [stream] } : {}) };
    streamLogs(latest.current.key, asked, abort.signal, {
      onChunks: (chunks) => setBuffer((old) => appendChunks(old, chunks)),
      onEnd: setEnd,
    })
      .catch((failure) => !abort.signal.aborted && setError(failure))
      .finally(() => !abort.signal.aborted && setOpen(false));
    return () => abort.abort();
  }, [text]);

  const lines = useMemo(() => searchLines(buffer.lines, search), [buffer, search]);
  return {
    lines,
    dropped: buffer.dropped,
    gaps: gapsOf(end),
    tail: query.tail,
    error,
    isOpen,
    isFollowing,
    isAtEnd,
    search,
    stream,
    emptyReason: search && buffer.lines.length > 0 ? "No line matches." : isOpen ? "No output yet." : "No output.",
    setSearch,
    setStream,
    setFollowing,
    noteScroll: setAtEnd,
    restart: () => setRound(round + 1),
  };
}

function gapsOf(end: LogEnd | null): string[] {
  return [...(end?.missing ?? []), ...(end?.left_out ?? [])].map(
    (gap) => `${plural(gap.tasks, "task")}: ${gap.reason}`,
  );
}
