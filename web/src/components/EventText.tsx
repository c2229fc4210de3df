/** An event in words, with links to the job and the node that it is about. */
import { Link } from "@tanstack/react-router";
import type { LiveEvent } from "../model/liveKeys";

export function EventText({ event, isJobHidden = false }: { event: LiveEvent; isJobHidden?: boolean }) {
  const { job, node, run } = event;
  const reference = job && run ? `${job}@${run}` : job;
  return (
    <span>
      {reference && !isJobHidden && (
        <Link
          to="/jobs/$namespace/$job/$tab"
          params={{ namespace: event.namespace ?? "default", job: reference, tab: "tasks" }}
        >
          {reference}
        </Link>
      )}
      {!job && !node && event.name}
      {event.tasks && ` tasks ${event.tasks}`}
      {node && (
        <>
          {job ? " on " : ""}
          <Link to="/nodes/$name/$tab" params={{ name: node, tab: "tasks" }}>
            {node}
          </Link>
        </>
      )}
      {event.exit_code ? ` exit code ${event.exit_code}` : ""}
      {event.reason && <span className="muted"> {event.reason}</span>}
    </span>
  );
}
