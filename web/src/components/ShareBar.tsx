/** A part of a whole, as a bar and as text. */
import styles from "./ShareBar.module.css";

interface ShareBarProps {
  part: number;
  whole: number;
  text: string;
}

export function ShareBar({ part, whole, text }: ShareBarProps) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return (
    <span className={styles.share}>
      <span className={styles.bar} aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      {text}
    </span>
  );
}
