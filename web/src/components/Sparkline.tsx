/** A small line of numbers over time, drawn as SVG. The last number and the unit stand next to it as text. */
import styles from "./Sparkline.module.css";

interface SparklineProps {
  label: string;
  values: (number | null)[];
  format: (value: number) => string;
  max?: number;
}

const WIDTH = 160;
const HEIGHT = 32;

export function Sparkline({ label, values, format, max }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  const top = max ?? Math.max(...known, 1e-9);
  return (
    <div className={styles.sparkline}>
      <span className={styles.label}>{label}</span>
      <strong>{last === undefined ? "–" : format(last)}</strong>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={linePath(values, top)} />
      </svg>
    </div>
  );
}

/** Gaps where a value is unknown. A point alone is still drawn. */
function linePath(values: (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false;
        return "";
      }
      const y = HEIGHT - 1.5 - (Math.min(value, top) / top) * (HEIGHT - 3);
      const at = `${(index * step).toFixed(1)} ${y.toFixed(1)}`;
      const point = isDrawing ? `L${at}` : `M${at}h0.1`;
      isDrawing = true;
      return point;
    })
    .join("");
}
