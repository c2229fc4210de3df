/** A state as a glyph and a word. The glyph has the colour; the word says the same to everybody. */
import { type Look, lookOf } from "../model/states";
import styles from "./StateMark.module.css";

const PATHS: Record<Look, string> = {
  waiting: "M8 3.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6",
  starting: "M8 3.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6M8 5v3h3",
  running: "M5 3.2v9.6L13 8z",
  succeeded: "M3 8.5l3.4 3.4L13 4.6",
  failed: "M4 4l8 8M12 4l-8 8",
  lost: "M5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.9.5-1.2.9-1.2 1.7M8 12.4v.4",
  cancelled: "M3.5 8h9",
};

export function Glyph({ look }: { look: Look }) {
  return (
    <svg className={styles.glyph} data-look={look} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[look]} />
    </svg>
  );
}

export function StateMark({ state, word = state }: { state: string; word?: string }) {
  return (
    <span className={styles.mark}>
      <Glyph look={lookOf(state)} />
      {word}
    </span>
  );
}
