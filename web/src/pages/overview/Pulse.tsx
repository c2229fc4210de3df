/** The last five minutes as sparklines. They begin when the page opens. */
import { useMemo } from "react";
import type { ClusterInfo } from "../../api/client";
import { useNow } from "../../components/Clock";
import { Panel } from "../../components/Panel";
import { Sparkline } from "../../components/Sparkline";
import type { LiveEvent } from "../../model/liveKeys";
import { pulseOf, STEP_S } from "../../model/pulse";
import { formatCount, parseAmount } from "../../model/quantities";
import { useRecentEvents } from "../../shell/LiveContext";
import styles from "./Overview.module.css";
import { useHistory } from "./useHistory";

const EVENTS_MAX = 20_000;

export function Pulse({ cluster }: { cluster: ClusterInfo }) {
  const nowMs = useNow();
  const events = useRecentEvents(EVENTS_MAX, isCounted);
  const series = useMemo(() => pulseOf(events, nowMs), [events, nowMs]);
  const load = useHistory(share(cluster));
  const waiting = useHistory(cluster.tasks.queued ?? 0);
  return (
    <Panel title="Tasks in the last five minutes">
      <div className={styles.pulse}>
        <Sparkline label="placed/min" values={perMinute(series.started)} format={formatCount} />
        <Sparkline label="succeeded/min" values={perMinute(series.ended)} format={formatCount} />
        <Sparkline label="failed/min" values={perMinute(series.failed)} format={formatCount} />
        <Sparkline label="queued" values={waiting} format={formatCount} />
        <Sparkline label="cpu reserved" values={load} format={(value) => `${Math.round(value * 100)}%`} max={1} />
      </div>
    </Panel>
  );
}

function isCounted(event: LiveEvent): boolean {
  return event.type.startsWith("tasks.");
}

function share(cluster: ClusterInfo): number {
  const whole = parseAmount(cluster.capacity.cpu);
  return whole > 0 ? parseAmount(cluster.reserved.cpu) / whole : 0;
}

function perMinute(values: number[]): number[] {
  return values.map((value) => Math.round((value * 60) / STEP_S));
}
