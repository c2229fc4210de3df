/** The list of keys, opened with `?`. */
import { Dialog } from "../components/Dialog";
import styles from "./KeyboardHelp.module.css";

const KEYS: [string, string][] = [
  ["/", "search jobs"],
  ["j  k", "next and previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  ["?", "this list"],
  ["+  −", "zoom the heat map"],
  ["←  →", "move in the heat map"],
  ["Space", "pick up and put down, in the slot board"],
  ["Esc", "close, or put back"],
];

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className={styles.keys}>
        {KEYS.map(([key, about]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
