/** All recorded decisions over time: one can be picked with the pointer or with arrow keys. */
import { type KeyboardEvent, type MouseEvent, useCallback, useMemo, useState } from "react";
import type { Schemas } from "../../api/client";
import { Time } from "../../components/Clock";
import { Legend } from "../../components/Legend";
import { type Draw, useCanvas } from "../../components/useCanvas";
import { barsOf, nearestTo, shareOf } from "../../model/flightBars";
import { formatCount, plural } from "../../model/quantities";
import styles from "./Decisions.module.css";

interface FlightTimelineProps {
  flight: Schemas["FlightTimeline"];
  current: string | undefined;
  onPick: (id: string) => void;
}

const HEIGHT = 120;
const STRIP = 18; // the policies, below the bars
const BAR_WIDTH = 5;
const PAGE = 10;

export function FlightTimeline({ flight, current, onPick }: FlightTimelineProps) {
  const [bars, setBars] = useState(120);
  const at = flight.ids.indexOf(current ?? "");
  const found = useMemo(() => barsOf(flight, bars), [flight, bars]);
  const draw = useCallback<Draw>(
    (context, width, height, colour) => {
      const floor = height - STRIP;
      const top = Math.max(1, ...found.map((bar) => Math.max(bar.placed + bar.preempted, bar.left)));
      const scale = (floor - 4) / Math.sqrt(top); // small decisions stay visible
      const step = width / found.length;
      for (const [index, bar] of found.entries()) {
        const x = index * step;
        context.fillStyle = colour("waiting");
        const left = Math.sqrt(bar.left) * scale;
        context.fillRect(x, floor - left, step - 1, Math.min(left, 2));
        context.fillStyle = colour("running");
        const placed = Math.sqrt(bar.placed) * scale;
        context.fillRect(x, floor - placed, step - 1, placed);
        context.fillStyle = colour("failed");
        const preempted = Math.min(placed, Math.sqrt(bar.preempted) * scale);
        context.fillRect(x, floor - preempted, step - 1, preempted);
      }
      drawPolicies(context, flight, width, floor, colour);
      for (const shadow of flight.shadows ?? []) {
        context.fillStyle = colour("lost");
        for (const when of shadow.differed_ms ?? []) context.fillRect(shareOf(flight, when) * width - 1, 0, 2, 8);
      }
      const when = flight.at_ms[at];
      if (when === undefined) return;
      context.fillStyle = colour("text");
      context.fillRect(Math.min(width - 2, shareOf(flight, when) * width), 0, 2, height);
    },
    [found, flight, at],
  );
  const { canvas, width } = useCanvas(draw, HEIGHT);
  const wanted = Math.max(20, Math.floor(width / BAR_WIDTH));
  if (width && wanted !== bars) setBars(wanted);
  const pick = (position: number) => {
    const id = flight.ids[Math.max(0, Math.min(flight.ids.length - 1, position))];
    if (id) onPick(id);
  };
  const onClick = (event: MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    pick(nearestTo(flight, (event.clientX - box.left) / box.width));
  };
  const onKey = (event: KeyboardEvent) => {
    const last = flight.ids.length - 1;
    const targets: Record<string, number> = {
      ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - PAGE, PageDown: at + PAGE, Home: 0, End: last,
    }; // biome-ignore format: a table
    const target = targets[event.key];
    if (target === undefined) return;
    pick(target);
    event.preventDefault();
  };
  return (
    <div className={styles.timeline}>
      <div className={styles.canvas}>
        <canvas
          ref={canvas}
          role="slider"
          tabIndex={0}
          aria-label={`Time line of ${plural(flight.ids.length, "decision")}`}
          aria-valuemin={1}
          aria-valuemax={flight.ids.length}
          aria-valuenow={at + 1}
          aria-valuetext={`decision ${at + 1} of ${flight.ids.length}: ${flight.placed[at]} placed, ${flight.left[at]} left`}
          onClick={onClick}
          onKeyDown={onKey}
        />
      </div>
      <div className={styles.scale}>
        <Time at={isoOf(flight.at_ms[0])} />
        <Time at={isoOf(flight.at_ms.at(-1))} />
      </div>
      <Legend items={LEGEND} />
      <div className={styles.steps}>
        <button type="button" disabled={at <= 0} onClick={() => pick(at - 1)}>
          Earlier
        </button>
        <span>
          decision {formatCount(at + 1)} of {formatCount(flight.ids.length)}
        </span>
        <button type="button" disabled={at === flight.ids.length - 1} onClick={() => pick(at + 1)}>
          Later
        </button>
        <button type="button" disabled={at === flight.ids.length - 1} onClick={() => pick(flight.ids.length - 1)}>
          Newest
        </button>
        {flight.truncated && <span className="muted">Older decisions are in the recording, but not shown here.</span>}
      </div>
    </div>
  );
}

const LEGEND = [
  { colour: "var(--running)", label: "placed (height: square root)" },
  { colour: "var(--failed)", label: "preempted" },
  { colour: "var(--waiting)", label: "line: left waiting" },
  { colour: "var(--lost)", label: "tick at the top: a shadow disagreed" },
];

function drawPolicies(
  context: CanvasRenderingContext2D,
  flight: Schemas["FlightTimeline"],
  width: number,
  floor: number,
  colour: (name: string) => string,
): void {
  const { policies, policy_names, at_ms } = flight;
  let end = -1;
  for (let position = 0; position < policies.length; position++) {
    if (position > 0 && policies[position] === policies[position - 1]) continue;
    const x = shareOf(flight, at_ms[position] ?? 0) * width;
    context.fillStyle = colour("line-strong");
    context.fillRect(x, floor, 1, STRIP);
    if (x < end) continue; // no room for its name
    const name = policy_names[policies[position] ?? 0] ?? "";
    context.fillStyle = colour("muted");
    context.fillText(name, x + 4, floor + STRIP - 5);
    end = x + 4 + context.measureText(name).width + 6;
  }
}

function isoOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
