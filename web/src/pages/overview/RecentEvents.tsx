/** The last events, as they come. */
import { Link } from "@tanstack/react-router";
import { Time } from "../../components/Clock";
import { EventText } from "../../components/EventText";
import { Panel } from "../../components/Panel";
import { useRecentEvents } from "../../shell/LiveContext";
import styles from "./Overview.module.css";

const SHOWN = 8;

export function RecentEvents() {
  const events = useRecentEvents(SHOWN, () => true);
  return (
    <Panel title="Events since this page opened" isFlush actions={<Link to="/events">All events</Link>}>
      {events.length === 0 ? (
        <p className={styles.calm}>
          <span className="muted">None yet. They appear here as they happen.</span>
        </p>
      ) : (
        <ul>
          {events.map((event) => (
            <li key={event.id} className={styles.event}>
              <Time at={event.at} />
              <code>{event.type}</code>
              <EventText event={event} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
