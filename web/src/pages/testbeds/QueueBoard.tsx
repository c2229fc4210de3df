/** The order in which jobs of a queue-based Scheduling start. */
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { type Draft, moveBy, removeAt } from "../../model/slotBoard";
import styles from "./Testbeds.module.css";

export function QueueBoard({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  if (draft.queue.length === 0) return <p className="muted">The queue is empty.</p>;
  return (
    <ol className={styles.queue} aria-label="Queue">
      {draft.queue.map((job, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same job may be there several times
        <li key={`${job} ${position}`}>
          <span>
            {position + 1}. {job}
          </span>
          <button
            type="button"
            aria-label={`Move ${job} up`}
            disabled={position === 0}
            onClick={() => onChange(moveBy(draft, position, -1))}
          >
            <ArrowUp size={14} />
          </button>
          <button
            type="button"
            aria-label={`Move ${job} down`}
            disabled={position === draft.queue.length - 1}
            onClick={() => onChange(moveBy(draft, position, 1))}
          >
            <ArrowDown size={14} />
          </button>
          <button type="button" aria-label={`Remove ${job}`} onClick={() => onChange(removeAt(draft, position))}>
            <X size={14} />
          </button>
        </li>
      ))}
    </ol>
  );
}
