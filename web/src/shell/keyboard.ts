/** Keys of the whole application. A key counts only while no field has the focus and no dialog is open. */
import { useEffect, useRef } from "react";

export type KeyHandlers = Record<string, (event: KeyboardEvent) => void>;

const FIELDS = "input, textarea, select, [contenteditable]";

export function useKeys(handlers: KeyHandlers): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.composedPath()[0];
      if (target instanceof Element && target.closest(FIELDS)) return;
      if (document.querySelector("dialog[open]")) return;
      const handler = latest.current[event.key];
      if (!handler) return;
      if (event.key === "Enter" && target instanceof Element && target.closest("a, button")) return;
      event.preventDefault();
      handler(event);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
