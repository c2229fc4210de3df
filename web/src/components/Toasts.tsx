/** Short messages about what an action did. Errors stay until they are closed; the rest goes by itself. */
import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { describeError } from "../api/problems";
import styles from "./Toasts.module.css";

interface Toast {
  id: number;
  text: string;
  isError: boolean;
}

const SHOWN_MS = 5000;
const TOASTS_MAX = 4;
let toasts: Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function add(text: string, isError: boolean): void {
  const id = nextId++;
  set([...toasts, { id, text, isError }].slice(-TOASTS_MAX));
  if (!isError) setTimeout(() => close(id), SHOWN_MS);
}

function close(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

export function say(text: string): void {
  add(text, false);
}

export function sayError(error: unknown): void {
  add(describeError(error), true);
}

export function Toasts() {
  const current = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {current.map((toast) => (
        <div key={toast.id} className={styles.toast} data-error={toast.isError || undefined}>
          <span>{toast.isError ? `Failed: ${toast.text}` : toast.text}</span>
          <button type="button" data-kind="plain" aria-label="Close the message" onClick={() => close(toast.id)}>
            <X size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
