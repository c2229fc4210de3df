/** A modal dialog of the browser: it traps the focus, closes with Escape, and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./Dialog.module.css";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
}

export function Dialog({ title, onClose, children, actions }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <h1 id={titleId}>{title}</h1>
      <div className={styles.body}>{children}</div>
      <div className={styles.actions}>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
        {actions}
      </div>
    </dialog>
  );
}
