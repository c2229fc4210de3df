/** The time range and the namespace of the page; both are in its address. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type AnalyticsSearch, localInput, RANGE_DEFAULT, RANGES, type TimeRange } from "../../model/timeRange";
import styles from "./Analytics.module.css";

const OWN = "own";

export function RangeBar({ range, namespaces }: { range: TimeRange; namespaces: string[] }) {
  const search = useSearch({ from: "/analytics" });
  const navigate = useNavigate();
  const set = (change: AnalyticsSearch) =>
    void navigate({ to: "/analytics", search: { ...search, ...change }, replace: true });
  const isOwn = search.from !== undefined;
  const choose = (value: string) => {
    if (value === OWN) set({ range: undefined, from: range.start, to: range.stop ?? undefined });
    else set({ range: value === RANGE_DEFAULT ? undefined : value, from: undefined, to: undefined });
  };
  const known = [...new Set([...namespaces, ...(search.namespace ? [search.namespace] : [])])].sort();
  return (
    <div className={styles.range}>
      <label>
        Time{" "}
        <select
          aria-label="Time range"
          value={isOwn ? OWN : (search.range ?? RANGE_DEFAULT)}
          onChange={(event) => choose(event.target.value)}
        >
          {RANGES.map(([key, label]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
          <option value={OWN}>from … to …</option>
        </select>
      </label>
      {isOwn && (
        <>
          <input
            type="datetime-local"
            aria-label="From"
            value={localInput(range.start)}
            onChange={(event) => event.target.value && set({ from: new Date(event.target.value).toISOString() })}
          />
          <input
            type="datetime-local"
            aria-label="To"
            value={range.stop ? localInput(range.stop) : ""}
            onChange={(event) =>
              set({ to: event.target.value ? new Date(event.target.value).toISOString() : undefined })
            }
          />
        </>
      )}
      <label>
        Namespace{" "}
        <select
          aria-label="Namespace"
          value={search.namespace ?? ""}
          onChange={(event) => set({ namespace: event.target.value || undefined })}
        >
          <option value="">all</option>
          {known.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  );
}
