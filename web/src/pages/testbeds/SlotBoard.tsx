/** The slots of a testbed as places for jobs: by drag and drop, by click, or with arrows, Enter and Delete. */
import { X } from "lucide-react";
import { type DragEvent, type KeyboardEvent, useRef } from "react";
import { assign, type Draft, jobsAt, neighbour, shortName, unassign } from "../../model/slotBoard";
import { rowsOfSlots, type Slot } from "../../model/testbeds";
import { draggedJob, draggedSlot, dragJob } from "./dragging";
import { SlotContent, SlotGrid } from "./SlotGrid";
import styles from "./Testbeds.module.css";

interface SlotBoardProps {
  slots: Slot[];
  draft: Draft;
  picked: string | null;
  onChange: (draft: Draft) => void;
  onPutBack: () => void;
}

export function SlotBoard({ slots, draft, picked, onChange, onPutBack }: SlotBoardProps) {
  const board = useRef<HTMLDivElement>(null);
  const rows = rowsOfSlots(slots).map((row) => row.slots.map((slot) => slot.position));
  const focus = (slot: number | null) => {
    if (slot !== null) board.current?.querySelector<HTMLButtonElement>(`[data-slot="${slot}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const at = document.activeElement?.getAttribute("data-slot");
    if (event.key === "Escape") onPutBack();
    else if (at === null || at === undefined) return;
    else if (event.key === "Delete" || event.key === "Backspace") {
      const last = jobsAt(draft, Number(at)).at(-1);
      if (last) onChange(unassign(draft, Number(at), last));
    } else if (/^(Arrow|Home|End)/.test(event.key)) focus(neighbour(rows, Number(at), event.key));
    else return;
    event.preventDefault();
  };
  const choose = (slot: number) => {
    if (!picked) return;
    onChange(jobsAt(draft, slot).includes(picked) ? unassign(draft, slot, picked) : assign(draft, slot, picked));
  };
  const drop = (slot: number) => (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const job = draggedJob(event);
    const from = draggedSlot(event);
    if (!job) return;
    onChange(assign(from === null || from === slot ? draft : unassign(draft, from, job), slot, job));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys come from the buttons in it
    <div ref={board} onKeyDown={onKey}>
      <SlotGrid slots={slots} label="Slots">
        {(slot) => {
          const jobs = jobsAt(draft, slot.position);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same by keys
            <div
              key={slot.position}
              className={styles.target}
              data-target={jobs.length > 0 || undefined}
              onDragOver={(event) => event.preventDefault()}
              onDrop={drop(slot.position)}
            >
              <button
                type="button"
                className={styles.slot}
                data-slot={slot.position}
                data-state={slot.state}
                onClick={() => choose(slot.position)}
              >
                <SlotContent slot={slot} />
                {jobs.length > 0 && (
                  <span className="visually-hidden">planned: {jobs.map(shortName).join(", then ")}</span>
                )}
              </button>
              {jobs.map((job) => (
                <button
                  key={job}
                  type="button"
                  className={styles.planned}
                  draggable
                  aria-label={`Take ${shortName(job)} out of slot ${slot.position}`}
                  onClick={() => onChange(unassign(draft, slot.position, job))}
                  onDragStart={(event) => dragJob(event, job, slot.position)}
                >
                  <span className={styles.jobName}>{shortName(job)}</span>
                  <X size={12} aria-hidden="true" />
                </button>
              ))}
            </div>
          );
        }}
      </SlotGrid>
    </div>
  );
}
