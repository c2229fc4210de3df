/** The head of a page: its title, which is also the title of the tab, and its actions. */
import { type ReactNode, useEffect } from "react";
import styles from "./Page.module.css";

export function PageHead({ title, mark, children }: { title: string; mark?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Shunter`;
  }, [title]);
  return (
    <div className={styles.head}>
      <h1>{title}</h1>
      {mark}
      <div className={styles.actions}>{children}</div>
    </div>
  );
}
