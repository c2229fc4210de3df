/** What colours and signs mean. */
import styles from "./Legend.module.css";

export function Legend({ items }: { items: { colour: string; label: string }[] }) {
  return (
    <span className={styles.legend}>
      {items.map((item) => (
        <span key={item.label}>
          <i style={{ background: item.colour }} aria-hidden="true" />
          {item.label}
        </span>
      ))}
    </span>
  );
}
