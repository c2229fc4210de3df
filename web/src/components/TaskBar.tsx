/** The tasks of a job as one bar, by state, with the numbers as its text for those who cannot see it. */
import { countLooks, LOOKS } from "../model/states";
import styles from "./TaskBar.module.css";

const ORDER = ["failed", "lost", "succeeded", "running", "starting", "waiting", "cancelled"] as const;

export function TaskBar({ counts }: { counts: Record<string, number> }) {
  const looks = countLooks(counts);
  const total = LOOKS.reduce((sum, look) => sum + looks[look], 0);
  const text = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");
  return (
    <span className={styles.bar} role="img" aria-label={text || "no tasks"} title={text}>
      {ORDER.filter((look) => looks[look] > 0).map((look) => (
        <span key={look} data-look={look} style={{ flexGrow: looks[look] / total }} />
      ))}
    </span>
  );
}
