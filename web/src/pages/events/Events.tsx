/** All events of the cluster as they come, and the history behind them. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { eventsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { EventText } from "../../components/EventText";
import { Empty, Failure, Loading } from "../../components/Notice";
import { VirtualRows } from "../../components/VirtualRows";
import type { LiveEvent } from "../../model/liveKeys";
import { formatCount } from "../../model/quantities";
import { useRecentEvents } from "../../shell/LiveContext";
import { PageHead } from "../../shell/Page";
import styles from "./Events.module.css";

const EVENTS_MAX = 5000;

export function Events() {
  const [text, setText] = useState("");
  const history = useQuery({ ...eventsQuery({}), staleTime: Number.POSITIVE_INFINITY });
  const recent = useRecentEvents(EVENTS_MAX, () => true);
  const events = useMemo(() => {
    const first = recent.at(-1);
    const old = ((history.data?.items ?? []) as LiveEvent[]).filter((event) => !first || event.at < first.at);
    return [...recent, ...old].filter((event) => matches(event, text));
  }, [recent, history.data, text]);
  if (history.isError && !history.data) return <Failure error={history.error} retry={() => void history.refetch()} />;
  return (
    <>
      <PageHead title="Events">
        <Command text="shunter events --follow" />
      </PageHead>
      <div className={styles.filter}>
        <input
          type="search"
          aria-label="Filter of events"
          placeholder="Type, job, node or reason"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="muted">{formatCount(events.length)} shown; new ones appear at the top</span>
      </div>
      {!history.data ? (
        <Loading />
      ) : events.length === 0 ? (
        <Empty title="No event matches" />
      ) : (
        <VirtualRows count={events.length} role="list">
          {(index) => {
            const event = events[index];
            return (
              event && (
                <div role="listitem" className={styles.row}>
                  <Time at={event.at} />
                  <code>{event.type}</code>
                  <EventText event={event} />
                </div>
              )
            );
          }}
        </VirtualRows>
      )}
    </>
  );
}

function matches(event: LiveEvent, text: string): boolean {
  if (text === "") return true;
  const all = [event.type, event.name, event.job, event.node, event.reason].join(" ").toLowerCase();
  return all.includes(text.toLowerCase());
}
