/** Numbers over time, as bars in SVG, with the largest value, the times at both ends, and the value under the pointer. */
import { type MouseEvent, useState } from "react";
import { localTime } from "../model/times";
import { useNow } from "./Clock";
import styles from "./SeriesChart.module.css";

interface SeriesChartProps {
  label: string;
  values: readonly (number | null)[];
  start: string;
  stepS: number;
  format: (value: number) => string;
  /** What stands next to the label: the sum or the mean, in words. */
  summary: string;
  max?: number;
}

const HEIGHT = 60;

export function SeriesChart({ label, values, start, stepS, format, summary, max }: SeriesChartProps) {
  const [under, setUnder] = useState<number | null>(null);
  const now = useNow();
  const known = values.filter((value) => value !== null);
  const top = max ?? Math.max(...known, 0);
  const timeAt = (step: number) => localTime(new Date(Date.parse(start) + step * stepS * 1000).toISOString(), now);
  const onMove = (event: MouseEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    setUnder(Math.min(values.length - 1, Math.floor(((event.clientX - box.left) / box.width) * values.length)));
  };
  const value = under === null ? null : (values[under] ?? null);
  return (
    <figure className={styles.chart}>
      <figcaption>
        <span className={styles.label} title={label}>
          {label}
        </span>{" "}
        <strong>{summary}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${values.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${summary}${known.length > 0 ? `, at most ${format(Math.max(...known))}` : ", no values"}`}
        onMouseMove={onMove}
        onMouseLeave={() => setUnder(null)}
      >
        <path d={barsPath(values, top)} />
        {under !== null && <rect x={under} y="0" width="1" height={HEIGHT} className={styles.under} />}
      </svg>
      <div className={styles.axis}>
        {under === null ? (
          <>
            <span>{timeAt(0)}</span>
            <span>{known.length > 0 ? `max ${format(Math.max(...known))}` : "no values yet"}</span>
            <span>{timeAt(values.length)}</span>
          </>
        ) : (
          <span>
            {timeAt(under)}: {value === null ? "–" : format(value)}
          </span>
        )}
      </div>
    </figure>
  );
}

function barsPath(values: readonly (number | null)[], top: number): string {
  return values
    .map((value, index) => {
      if (value === null || value <= 0 || top <= 0) return "";
      const height = Math.max(1, Math.min(1, value / top) * (HEIGHT - 2));
      return `M${index} ${HEIGHT}v${(-height).toFixed(1)}h1V${HEIGHT}z`;
    })
    .join("");
}
