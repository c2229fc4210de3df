/** The slots of a testbed, a row for each node. Very many nodes are shown in part, and found by name. */
import { type ReactNode, useState } from "react";
import { Glyph } from "../../components/StateMark";
import { formatCount } from "../../model/quantities";
import { lookOf } from "../../model/states";
import { countSlots, rowsOfSlots, type Slot } from "../../model/testbeds";
import styles from "./Testbeds.module.css";

const SLOTS_SHOWN = 160;

interface SlotGridProps {
  slots: Slot[];
  label?: string;
  children?: (slot: Slot) => ReactNode;
}

export function SlotGrid({ slots, label, children }: SlotGridProps) {
  const [wanted, setWanted] = useState("");
  if (slots.length === 0) return <p className="muted">No slots yet: no node has the label, or none has room.</p>;
  const rows = rowsOfSlots(slots).filter((row) => row.node.includes(wanted));
  const shown = firstRows(rows.map((row) => row.slots.length));
  const hidden = rows.length - shown;
  return (
    <>
      <p className={styles.summary}>
        {countSlots(slots).map(([state, count]) => (
          <span key={state}>
            <Glyph look={lookOf(state)} /> {formatCount(count)} {state.toLowerCase()}
          </span>
        ))}
        {(hidden > 0 || wanted !== "") && (
          <label>
            Node{" "}
            <input
              type="search"
              value={wanted}
              placeholder="name"
              onChange={(event) => setWanted(event.target.value)}
            />
          </label>
        )}
      </p>
      <div className={styles.nodes} role="group" aria-label={label ?? "Slots by node"}>
        {rows.slice(0, shown).map((row) => (
          <div key={row.node} className={styles.node}>
            <span className={styles.nodeName} title={row.node}>
              {row.node}
            </span>
            <div className={styles.slots}>
              {row.slots.map((slot) => (children ? children(slot) : <SlotBox key={slot.position} slot={slot} />))}
            </div>
          </div>
        ))}
      </div>
      {hidden > 0 && (
        <p className="muted">
          {formatCount(shown)} of {formatCount(rows.length)} nodes are shown; search for others by name.
        </p>
      )}
    </>
  );
}

/** How many rows have so many slots together; at least one. */
function firstRows(sizes: readonly number[]): number {
  let total = 0;
  const end = sizes.findIndex((size) => {
    total += size;
    return total > SLOTS_SHOWN;
  });
  return end === -1 ? sizes.length : Math.max(1, end);
}

function SlotBox({ slot }: { slot: Slot }) {
  return (
    <div className={styles.slot} data-state={slot.state}>
      <SlotContent slot={slot} />
    </div>
  );
}

export function SlotContent({ slot }: { slot: Slot }) {
  return (
    <>
      <span className={styles.slotHead}>
        <span className="visually-hidden">Slot</span>
        <span className="muted">{slot.position}</span>
        <span className="visually-hidden">on {slot.nodeName}:</span>
        <span>
          <Glyph look={lookOf(slot.state)} /> {slot.state.toLowerCase()}
        </span>
      </span>
      {slot.holder && <span className={styles.holder}>{slot.holder}</span>}
    </>
  );
}
