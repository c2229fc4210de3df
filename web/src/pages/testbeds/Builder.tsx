/** Builds a Scheduling: jobs go to slots by drag and drop, by click, or by keyboard, or into a queue. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type DragEvent, type KeyboardEvent, useRef, useState } from "react";
import { applyManifests, planManifests } from "../../api/actions";
import type { ObjectView } from "../../api/client";
import { describeError } from "../../api/problems";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import {
  assign,
  type Draft,
  EMPTY_DRAFT,
  enqueue,
  isEmpty,
  type JobName,
  keyOf,
  type Mode,
  schedulingOf,
} from "../../model/slotBoard";
import { nameOf, type Slot } from "../../model/testbeds";
import { QueueBoard } from "./QueueBoard";
import { SlotContent, SlotGrid } from "./SlotGrid";
import styles from "./Testbeds.module.css";

interface BuilderProps {
  testbed: JobName;
  slots: Slot[];
  jobs: ObjectView[];
}

const MODES: [Mode, string][] = [
  ["strict", "slots, strict order"],
  ["relaxed", "slots, relaxed order"],
  ["queue", "queue"],
];
const DRAGGED = "text/plain";

export function Builder({ testbed, slots, jobs }: BuilderProps) {
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [name, setName] = useState("by-hand");
  const [picked, setPicked] = useState<string | null>(null);
  const queries = useQueryClient();
  const manifest = schedulingOf(draft, name, testbed);
  const create = async () => {
    try {
      await applyManifests([manifest]);
      say(`Created the Scheduling ${name}.`);
      setDraft({ ...EMPTY_DRAFT, mode: draft.mode });
      await queries.invalidateQueries({ queryKey: ["objects"] });
    } catch (error) {
      sayError(error);
    }
  };
  const pick = (job: string) => {
    if (draft.mode === "queue") setDraft(enqueue(draft, job));
    else setPicked(picked === job ? null : job);
  };
  return (
    <Panel title="New Scheduling">
      <div className={styles.controls}>
        <label>
          Name <input type="text" value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          By{" "}
          <select value={draft.mode} onChange={(event) => setDraft({ ...draft, mode: event.target.value as Mode })}>
            {MODES.map(([mode, label]) => (
              <option key={mode} value={mode}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <span className="muted" aria-live="polite">
          {hintOf(draft.mode, picked)}
        </span>
      </div>
      <div className={styles.jobs} role="toolbar" aria-label="BatchJobs">
        {jobs.length === 0 && <span className="muted">There is no BatchJob to schedule yet.</span>}
        {jobs.map((job) => {
          const key = keyOf(nameOf(job));
          return (
            <button
              key={key}
              type="button"
              draggable={draft.mode !== "queue"}
              aria-pressed={picked === key}
              onClick={() => pick(key)}
              onDragStart={(event) => event.dataTransfer.setData(DRAGGED, key)}
            >
              {nameOf(job).name}
            </button>
          );
        })}
      </div>
      {draft.mode === "queue" ? (
        <QueueBoard draft={draft} onChange={setDraft} />
      ) : (
        <SlotBoard
          slots={slots}
          draft={draft}
          picked={picked}
          onAssign={(slot, job) => setDraft(assign(draft, slot, job))}
          onPutBack={() => setPicked(null)}
        />
      )}
      <div className={styles.foot}>
        <button
          type="button"
          data-kind="primary"
          disabled={isEmpty(draft) || name === ""}
          onClick={() => void create()}
        >
          Create
        </button>
        <Preview draft={draft} manifest={manifest} />
      </div>
    </Panel>
  );
}

function hintOf(mode: Mode, picked: string | null): string {
  if (mode === "queue") return "Choose a job for each executor; a job may be there several times.";
  if (picked) return `${picked} is picked up: Space or Enter puts it into a slot, arrows move, Esc puts it back.`;
  return "Drag a job into slots, or pick it up with Space.";
}

interface SlotBoardProps {
  slots: Slot[];
  draft: Draft;
  picked: string | null;
  onAssign: (slot: number, job: string | null) => void;
  onPutBack: () => void;
}

function SlotBoard({ slots, draft, picked, onAssign, onPutBack }: SlotBoardProps) {
  const board = useRef<HTMLDivElement>(null);
  const onKey = (event: KeyboardEvent) => {
    const boxes = [...(board.current?.querySelectorAll<HTMLButtonElement>("[data-slot]") ?? [])];
    const at = boxes.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") onPutBack();
    else if (step === undefined) return;
    else boxes[at + step]?.focus();
    event.preventDefault();
  };
  const drop = (slot: Slot) => (event: DragEvent) => {
    event.preventDefault();
    const job = event.dataTransfer.getData(DRAGGED);
    if (job) onAssign(slot.position, job);
  };
  return (
    <div ref={board} role="group" aria-label="Slots" onKeyDown={onKey}>
      <SlotGrid slots={slots}>
        {(slot) => {
          const job = draft.slots.get(slot.position);
          return (
            <button
              key={slot.position}
              type="button"
              className={styles.slot}
              data-slot
              data-state={slot.state}
              data-target={job ? true : undefined}
              onClick={() => onAssign(slot.position, job === picked || !picked ? null : picked)}
              onDragOver={(event) => event.preventDefault()}
              onDrop={drop(slot)}
            >
              <SlotContent slot={slot} />
              {job && <span className={styles.holder}>new: {job.split("/")[1]}</span>}
            </button>
          );
        }}
      </SlotGrid>
    </div>
  );
}

/** What the planner says about the draft; nothing is created by it. */
function Preview({ draft, manifest }: { draft: Draft; manifest: Record<string, unknown> }) {
  const plan = useQuery({
    queryKey: ["plan", manifest],
    queryFn: () => planManifests([manifest]),
    enabled: !isEmpty(draft),
    retry: false,
  });
  if (isEmpty(draft)) return null;
  if (plan.isError) {
    return (
      <span role="alert">
        <Glyph look="failed" /> {describeError(plan.error)}
      </span>
    );
  }
  const [object] = plan.data?.objects ?? [];
  return <span aria-live="polite">{object ? `Preview: ${object.sentence}` : plan.data?.sentence}</span>;
}
