/** Metrics over time, one chart each, with the mean, the largest value and the time span as text. */
import { formatBytes, shortNumber } from "../model/quantities";
import { Time } from "./Clock";
import { Sparkline } from "./Sparkline";
import styles from "./UsageCharts.module.css";

interface Metric {
  mean: number;
  max: number;
  values: (number | null)[];
}

interface UsageChartsProps {
  metrics: Record<string, Metric>;
  start: string;
  stop: string;
}

const TITLES: Record<string, string> = {
  cpu_cores: "cpu, in cores",
  memory_bytes: "memory",
  io_read_bytes_per_s: "read per second",
  io_write_bytes_per_s: "written per second",
};

function titleOf(name: string): string {
  return TITLES[name] ?? name.replaceAll("_", " ");
}

export function UsageCharts({ metrics, start, stop }: UsageChartsProps) {
  return Object.entries(metrics).map(([name, metric]) => {
    const format = name.includes("bytes") ? formatBytes : shortNumber;
    return (
      <div key={name} className={styles.chart}>
        <Sparkline label={titleOf(name)} values={metric.values} format={format} />
        <p className={styles.scale}>
          <Time at={start} />
          <span>max {format(metric.max)}</span>
          <Time at={stop} />
        </p>
      </div>
    );
  });
}
