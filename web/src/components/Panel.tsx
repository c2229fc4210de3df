/** A titled box of a page. */
import type { ReactNode } from "react";
import styles from "./Panel.module.css";

interface PanelProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
  /** Content that reaches the border: tables and canvases. */
  isFlush?: boolean;
}

export function Panel({ title, actions, children, isFlush = false }: PanelProps) {
  return (
    <section className={styles.panel} aria-label={title}>
      <header className={styles.header}>
        <h2>{title}</h2>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      <div className={isFlush ? styles.flush : styles.body}>{children}</div>
    </section>
  );
}
