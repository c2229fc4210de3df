/** The events of a job, newest first. */
import { useQuery } from "@tanstack/react-query";
import type { JobView } from "../../api/client";
import { eventsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { EventText } from "../../components/EventText";
import { Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import type { LiveEvent } from "../../model/liveKeys";
import { formatCount } from "../../model/quantities";
import styles from "./Job.module.css";

export function EventsTab({ view }: { view: JobView }) {
  const events = useQuery(eventsQuery({ namespace: view.namespace, job: view.name }));
  if (events.isError && !events.data) return <Failure error={events.error} retry={() => void events.refetch()} />;
  if (!events.data) return <Loading />;
  const items = (events.data.items as LiveEvent[]).filter((event) => !event.run || event.run === view.run);
  const isCut = events.data.next !== null && events.data.items.length < events.data.total;
  return (
    <Panel
      title="Events"
      isFlush
      actions={isCut && <span>the newest {formatCount(events.data.items.length)} are shown</span>}
    >
      <ul className={styles.events}>
        {items.map((event) => (
          <li key={event.id} className={styles.event}>
            <Time at={event.at} />
            <code>{event.type}</code>
            <EventText event={event} isJobHidden />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
