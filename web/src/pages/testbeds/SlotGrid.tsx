/** The slots of a testbed, a row for each node. Slots may be targets of the builder. */
import type { ReactNode } from "react";
import { Glyph } from "../../components/StateMark";
import { lookOf } from "../../model/states";
import type { Slot } from "../../model/testbeds";
import styles from "./Testbeds.module.css";

export function SlotGrid({ slots, children }: { slots: Slot[]; children?: (slot: Slot) => ReactNode }) {
  const nodes = [...new Set(slots.map((slot) => slot.nodeName))];
  if (slots.length === 0) return <p className="muted">No slots yet: no node has the label, or none has room.</p>;
  return (
    <div className={styles.nodes}>
      {nodes.map((node) => (
        <div key={node} className={styles.node}>
          <span className={styles.nodeName}>{node}</span>
          <div className={styles.slots}>
            {slots
              .filter((slot) => slot.nodeName === node)
              .map((slot) => (children ? children(slot) : <SlotBox key={slot.position} slot={slot} />))}
          </div>
        </div>
      ))}
    </div>
  );
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
      <span className="muted">{slot.position}</span>
      <span>
        <Glyph look={lookOf(slot.state)} /> {slot.state.toLowerCase()}
      </span>
      {slot.holder && <span className={styles.holder}>{slot.holder}</span>}
    </>
  );
}
