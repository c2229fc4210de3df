/** A list whose order matters: entries move by drag and drop, by buttons, or by keyboard. */
import { ArrowDown, ArrowUp, Copy, GripVertical, X } from "lucide-react";
import { type DragEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { draggedJob, draggedPosition, dragJob, dragPosition } from "./dragging";
import styles from "./Testbeds.module.css";

interface OrderedListProps {
  label: string;
  entries: readonly { name: string; note?: ReactNode }[];
  onMove: (from: number, to: number) => void;
  onRemove: (position: number) => void;
  /** Where a job can be in the list several times. */
  onRepeat?: (position: number) => void;
  /** A job that is dropped before an entry; the position after the last one is the end. */
  onInsert?: (job: string, position: number) => void;
  empty: string;
}

export function OrderedList({ label, entries, onMove, onRemove, onRepeat, onInsert, empty }: OrderedListProps) {
  const [held, setHeld] = useState<number | null>(null);
  const [said, setSaid] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const [focused, setFocused] = useState<number | null>(null);
  useEffect(() => {
    if (focused === null) return;
    list.current?.querySelectorAll<HTMLButtonElement>("[data-entry]")[focused]?.focus();
    setFocused(null);
  }, [focused]);
  const move = (from: number, to: number) => {
    if (to < 0 || to >= entries.length) return;
    onMove(from, to);
    setSaid(`${entries[from]?.name} is at position ${to + 1} of ${entries.length}.`);
    if (held === from) setHeld(to);
    setFocused(to);
  };
  const onKey = (position: number) => (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      if (held === position) move(position, position + step);
      else setFocused(Math.max(0, Math.min(entries.length - 1, position + step)));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      setSaid(`${entries[position]?.name} is removed.`);
      onRemove(position);
      setHeld(null);
      setFocused(Math.max(0, position - 1));
    } else if (event.key === "Escape") setHeld(null);
    else return;
    event.preventDefault();
  };
  const drop = (position: number) => (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const from = draggedPosition(event);
    const job = draggedJob(event);
    if (from !== null) move(from, Math.min(position, entries.length - 1));
    else if (job !== null) onInsert?.(job, position);
  };
  return (
    <>
      <ol
        ref={list}
        className={styles.ordered}
        aria-label={label}
        onDragOver={(event) => event.preventDefault()}
        onDrop={drop(entries.length)}
      >
        {entries.length === 0 && <li className="muted">{empty}</li>}
        {entries.map(({ name, note }, position) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same job may be there several times
          <li key={`${name} ${position}`} onDragOver={(event) => event.preventDefault()} onDrop={drop(position)}>
            <button
              type="button"
              data-kind="plain"
              data-entry
              className={styles.entry}
              draggable
              aria-pressed={held === position}
              onClick={() => setHeld(held === position ? null : position)}
              onKeyDown={onKey(position)}
              onDragStart={(event) => {
                dragPosition(event, position);
                dragJob(event, name);
              }}
            >
              <GripVertical size={14} aria-hidden="true" />
              <span className={styles.number}>{position + 1}</span>
              <span className={styles.jobName}>{name}</span>
              {note}
            </button>
            <IconButton label={`Move ${name} up`} isOff={position === 0} onClick={() => move(position, position - 1)}>
              <ArrowUp size={14} />
            </IconButton>
            <IconButton
              label={`Move ${name} down`}
              isOff={position === entries.length - 1}
              onClick={() => move(position, position + 1)}
            >
              <ArrowDown size={14} />
            </IconButton>
            {onRepeat && (
              <IconButton label={`Repeat ${name}`} onClick={() => onRepeat(position)}>
                <Copy size={14} />
              </IconButton>
            )}
            <IconButton label={`Remove ${name}`} onClick={() => onRemove(position)}>
              <X size={14} />
            </IconButton>
          </li>
        ))}
      </ol>
      <span className="visually-hidden" aria-live="polite">
        {held === null ? said : `${entries[held]?.name} is picked up: up and down move it, Enter drops it. ${said}`}
      </span>
    </>
  );
}

interface IconButtonProps {
  label: string;
  onClick: () => void;
  isOff?: boolean;
  children: ReactNode;
}

function IconButton({ label, onClick, isOff = false, children }: IconButtonProps) {
  return (
    <button type="button" data-kind="plain" aria-label={label} title={label} disabled={isOff} onClick={onClick}>
      {children}
    </button>
  );
}
