/** Output with search, choice of stream, and follow. It follows while the job runs, and stays at the end while it is
 * scrolled there. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useRef } from "react";
import type { LogQuery } from "../../../api/logs";
import type { JobKey } from "../../../api/queries";
import { Failure } from "../../../components/Notice";
import type { LogLine } from "../../../model/logLines";
import { formatCount, plural } from "../../../model/quantities";
import styles from "./Logs.module.css";
import { type LogState, useLog } from "./useLog";

const LINE_HEIGHT = 18;
const OVERSCAN = 20;
const AT_END_PX = 40;

interface LogViewProps {
  jobKey: JobKey;
  query: LogQuery;
  /** Whether the name of the task is left out, because there is only one. */
  isTaskHidden?: boolean;
}

export function LogView({ jobKey, query, isTaskHidden = false }: LogViewProps) {
  const log = useLog(jobKey, query);
  const place = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: log.lines.length,
    getScrollElement: () => place.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: OVERSCAN,
  });
  useFollow(place, log);
  if (log.error) return <Failure error={log.error} retry={log.restart} />;
  return (
    <div className={styles.log}>
      <LogControls log={log} />
      <div
        ref={place}
        className={styles.lines}
        role="log"
        aria-label="Output"
        tabIndex={0}
        onScroll={() => log.noteScroll(isAtEnd(place))}
      >
        <div style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map((item) => {
            const line = log.lines[item.index];
            return line && <Line key={line.number} line={line} top={item.start} isTaskHidden={isTaskHidden} />;
          })}
        </div>
        {log.lines.length === 0 && <p className={styles.none}>{log.emptyReason}</p>}
      </div>
      <p className={styles.foot}>{footOf(log)}</p>
    </div>
  );
}

function Line({ line, top, isTaskHidden }: { line: LogLine; top: number; isTaskHidden: boolean }) {
  return (
    <div className={styles.line} style={{ transform: `translateY(${top}px)` }}>
      {!isTaskHidden && <span className={styles.task}>{line.task.split("/").slice(1).join("/")}</span>}
      {line.stream === "stderr" && <span className={styles.stream}>err</span>}
      <span>{line.text}</span>
    </div>
  );
}

function LogControls({ log }: { log: LogState }) {
  return (
    <div className={styles.controls}>
      <input
        type="search"
        aria-label="Search in the output"
        placeholder="Search in the output"
        value={log.search}
        onChange={(event) => log.setSearch(event.target.value)}
      />
      <select aria-label="Stream" value={log.stream} onChange={(event) => log.setStream(event.target.value)}>
        <option value="">both streams</option>
        <option value="stdout">stdout</option>
        <option value="stderr">stderr</option>
      </select>
      <label>
        <input type="checkbox" checked={log.isFollowing} onChange={(event) => log.setFollowing(event.target.checked)} />{" "}
        Follow
      </label>
    </div>
  );
}

function footOf(log: LogState): string {
  const parts = [log.search ? `${formatCount(log.lines.length)} lines match` : plural(log.lines.length, "line")];
  if (log.dropped > 0) parts.push(`${formatCount(log.dropped)} older lines left out`);
  if (log.tail) parts.push(`the last ${formatCount(log.tail)} lines of each stream of each task`);
  parts.push(...log.gaps);
  parts.push(log.isOpen ? "open: new output appears as it is written" : "complete");
  return parts.join(" · ");
}

function isAtEnd(place: RefObject<HTMLDivElement | null>): boolean {
  const element = place.current;
  return !element || element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX;
}

function useFollow(place: RefObject<HTMLDivElement | null>, log: LogState): void {
  const last = log.lines.at(-1)?.number;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another last line scrolls
  useEffect(() => {
    if (log.isFollowing && log.isAtEnd && place.current) place.current.scrollTop = place.current.scrollHeight;
  }, [last, log.isFollowing, log.isAtEnd]);
}
