/** Builds a Scheduling, or extends one: jobs go to slots or into a queue by drag and drop, by click, or by keyboard. */

import { useQueryClient } from "@tanstack/react-query";
import { type MouseEvent, useEffect, useRef, useState } from "react";
import { applyManifests } from "../../api/actions";
import type { ObjectView } from "../../api/client";
import { ActionButton } from "../../components/ActionButton";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import {
  type Draft,
  draftOf,
  EMPTY_DRAFT,
  enqueue,
  freeName,
  isEmpty,
  type JobName,
  keyOf,
  type Mode,
  moved,
  schedulingOf,
  shortName,
  without,
} from "../../model/slotBoard";
import { lookOf } from "../../model/states";
import { nameOf, ofKind, type Slot, stateOf } from "../../model/testbeds";
import { protectInput } from "../../shell/version";
import { dragJob } from "./dragging";
import { OrderedList } from "./OrderedList";
import { Preview } from "./Preview";
import { SlotBoard } from "./SlotBoard";
import styles from "./Testbeds.module.css";

interface BuilderProps {
  testbed: JobName;
  slots: Slot[];
  items: ObjectView[];
  /** The Scheduling that is extended. */
  base: ObjectView | undefined;
  onDone: () => void;
}

const MODES: [Mode, string][] = [
  ["strict", "slots, strict order"],
  ["relaxed", "slots, relaxed order"],
  ["queue", "queue"],
];

export function Builder({ testbed, slots, items, base, onDone }: BuilderProps) {
  const [first] = useState<Draft>(() => (base ? draftOf(base.spec, nameOf(base).namespace) : EMPTY_DRAFT));
  const [draft, setDraft] = useState(first);
  const [name, setName] = useState<string | null>(null);
  const [picked, setPicked] = useState<string | null>(null);
  const shelf = useRef<HTMLDivElement>(null);
  const queries = useQueryClient();
  const taken = ofKind(items, "Scheduling").map((each) => nameOf(each).name);
  const key = base ? nameOf(base) : { name: name ?? freeName(taken), namespace: testbed.namespace };
  const manifest = schedulingOf(draft, key, testbed);
  const isChanged = draft !== first;
  useEffect(() => (isChanged ? protectInput() : undefined), [isChanged]);
  const submit = async () => {
    try {
      await applyManifests([manifest]);
      say(base ? `Extended the Scheduling ${key.name}.` : `Created the Scheduling ${key.name}.`);
      setDraft({ ...EMPTY_DRAFT, mode: draft.mode });
      setName(null);
      setPicked(null);
      onDone();
      await queries.invalidateQueries({ queryKey: ["objects"] });
    } catch (error) {
      sayError(error);
    }
  };
  const putBack = () => {
    const pressed = shelf.current?.querySelector<HTMLButtonElement>('[aria-pressed="true"]');
    setPicked(null);
    pressed?.focus();
  };
  /** After a key, the first slot gets the focus: arrows go on from there. */
  const pick = (job: string, event: MouseEvent) => {
    if (draft.mode === "queue") setDraft(enqueue(draft, job));
    else {
      setPicked(picked === job ? null : job);
      const isByKey = event.detail === 0;
      if (isByKey && picked !== job) document.querySelector<HTMLButtonElement>("[data-slot]")?.focus();
    }
  };
  return (
    <Panel
      title={base ? `Extend ${key.name}` : "New Scheduling"}
      actions={
        base && (
          <button type="button" onClick={onDone}>
            Cancel
          </button>
        )
      }
    >
      <div className={styles.controls}>
        <label>
          Name{" "}
          <input
            type="text"
            value={key.name}
            disabled={base !== undefined}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label>
          By{" "}
          <select
            aria-label="By slots or queue"
            value={draft.mode}
            onChange={(event) => {
              setDraft({ ...draft, mode: event.target.value as Mode });
              setPicked(null);
            }}
          >
            {MODES.map(([mode, label]) => (
              <option key={mode} value={mode}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div className={styles.jobs} ref={shelf} role="toolbar" aria-label="BatchJobs">
        {ofKind(items, "BatchJob").map((job) => (
          <button
            key={keyOf(nameOf(job))}
            type="button"
            draggable
            aria-pressed={picked === keyOf(nameOf(job))}
            title={`${keyOf(nameOf(job))}: ${stateOf(job)}`}
            onClick={(event) => pick(keyOf(nameOf(job)), event)}
            onDragStart={(event) => dragJob(event, keyOf(nameOf(job)))}
          >
            <Glyph look={lookOf(stateOf(job))} />
            {nameOf(job).name}
          </button>
        ))}
      </div>
      <p className={styles.hint} aria-live="polite">
        {hintOf(draft.mode, picked, ofKind(items, "BatchJob").length)}
      </p>
      {draft.mode === "queue" ? (
        <OrderedList
          label="Queue"
          empty="The queue is empty: choose jobs above, or drag them here."
          entries={draft.queue.map((job) => ({ name: job }))}
          onMove={(from, to) => setDraft({ ...draft, queue: moved(draft.queue, from, to) })}
          onRemove={(position) => setDraft({ ...draft, queue: without(draft.queue, position) })}
          onRepeat={(position) => setDraft(enqueue(draft, draft.queue[position] ?? "", position + 1))}
          onInsert={(job, position) => setDraft(enqueue(draft, job, position))}
        />
      ) : (
        <>
          <SlotBoard slots={slots} draft={draft} picked={picked} onChange={setDraft} onPutBack={putBack} />
          {draft.mode === "strict" && draft.placed.length > 1 && (
            <>
              <h3 className={styles.orderTitle}>Order of the starts</h3>
              <OrderedList
                label="Order of the starts"
                empty=""
                entries={draft.placed.map(({ job, slots: ids }) => ({
                  name: job,
                  note: <span className="muted">in {ids.join(", ")}</span>,
                }))}
                onMove={(from, to) => setDraft({ ...draft, placed: moved(draft.placed, from, to) })}
                onRemove={(position) => setDraft({ ...draft, placed: without(draft.placed, position) })}
              />
            </>
          )}
        </>
      )}
      <div className={styles.foot}>
        <ActionButton
          right="schedule"
          data-kind="primary"
          disabled={isEmpty(draft) || key.name === "" || (base !== undefined && !isChanged)}
          onClick={() => void submit()}
        >
          {base ? "Extend" : "Create"}
        </ActionButton>
        {isChanged && (
          <button type="button" onClick={() => setDraft(first)}>
            Start again
          </button>
        )}
        <Preview isEmpty={isEmpty(draft)} manifest={manifest} />
      </div>
    </Panel>
  );
}

function hintOf(mode: Mode, picked: string | null, jobs: number): string {
  if (jobs === 0) return "There is no BatchJob yet: add one above.";
  if (mode === "queue")
    return "One entry for each executor. Space picks an entry up, arrows move it, Delete removes it.";
  if (picked) {
    return `${shortName(picked)} is picked up: arrows move, Enter puts it into a slot, Delete takes it out, Esc ends.`;
  }
  return "Drag jobs into slots, or pick one up with a click or Space.";
}
