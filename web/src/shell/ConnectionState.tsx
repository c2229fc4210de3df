/** Whether the page is live, in words. */
import { useSyncExternalStore } from "react";
import styles from "./ConnectionState.module.css";
import { useConnection } from "./LiveContext";
import { isOldVersion, onVersionChange } from "./version";

const ABOUT = {
  connecting: "Opening the stream of events",
  live: "Changes appear within a second",
  lost: "The manager does not answer; trying again. Numbers may be old",
  "signed out": "The session has ended",
} as const;

export function ConnectionState() {
  const connection = useConnection();
  const isOld = useSyncExternalStore(onVersionChange, isOldVersion);
  if (isOld) {
    return (
      <button type="button" onClick={() => location.reload()} title="The manager was upgraded">
        New version: reload
      </button>
    );
  }
  return (
    <span className={styles.state} data-connection={connection} role="status" title={ABOUT[connection]}>
      <span className={styles.dot} aria-hidden="true" />
      {connection}
    </span>
  );
}
