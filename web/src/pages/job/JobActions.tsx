/** What can be done with a job now. What the server refuses, the message explains. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { holdJob, releaseJob, restartJob, retryJob, rollBackJob, scaleJob, stopJob } from "../../api/actions";
import type { JobView } from "../../api/client";
import { ActionButton } from "../../components/ActionButton";
import { Dialog } from "../../components/Dialog";
import { Menu, type MenuItem } from "../../components/Menu";
import { say, sayError } from "../../components/Toasts";
import { referenceOf } from "../../model/attention";
import { isDone } from "../../model/states";
import { useRefusal } from "../../shell/useRefusal";
import styles from "./Job.module.css";

type Asking = "stop" | "scale" | null;

export function JobActions({ view }: { view: JobView }) {
  const [asking, setAsking] = useState<Asking>(null);
  const [isBusy, setBusy] = useState(false);
  const navigate = useNavigate();
  const isRefused = useRefusal("submit") !== null;
  const key = { namespace: view.namespace, job: referenceOf(view) };
  const run = async (done: string, action: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await action();
      say(done);
      setAsking(null);
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  };
  const retry = (isFailedOnly: boolean) =>
    run("A new run started.", async () => {
      const next = await retryJob(key, isFailedOnly);
      const params = { namespace: next.namespace, job: referenceOf(next), tab: "tasks" };
      await navigate({ to: "/jobs/$namespace/$job/$tab", params });
    });

  const edit = (
    <Link to="/create" search={{ from: `${key.namespace}/${key.job}` }} className={styles.edit}>
      {view.update && !isDone(view.state) ? "Update" : "Edit"}
    </Link>
  );
  if (isDone(view.state)) {
    return (
      <>
        {edit}
        {(view.counts.failed ?? 0) > 0 && (view.counts.succeeded ?? 0) > 0 && (
          <ActionButton right="submit" disabled={isBusy} onClick={() => void retry(true)}>
            Retry what failed
          </ActionButton>
        )}
        <ActionButton right="submit" disabled={isBusy} onClick={() => void retry(false)}>
          Run again
        </ActionButton>
      </>
    );
  }
  const items: MenuItem[] = view.update
    ? [
        {
          label: "Restart all instances",
          onSelect: () => void run("Restarting, step by step.", () => restartJob(key)),
          isDisabled: isRefused,
        },
        {
          label: "Roll back",
          onSelect: () => void run("Rolling back.", () => rollBackJob(key)),
          isDisabled: isRefused,
        },
      ]
    : [];
  return (
    <>
      {edit}
      {view.type === "service" && (
        <ActionButton right="submit" onClick={() => setAsking("scale")}>
          Scale
        </ActionButton>
      )}
      {view.terms?.held ? (
        <ActionButton right="submit" disabled={isBusy} onClick={() => void run("Released.", () => releaseJob(key))}>
          Release
        </ActionButton>
      ) : (
        <ActionButton
          right="submit"
          disabled={isBusy}
          onClick={() => void run("Held: no more tasks start.", () => holdJob(key))}
        >
          Hold
        </ActionButton>
      )}
      <ActionButton right="submit" disabled={isBusy || view.state === "stopping"} onClick={() => setAsking("stop")}>
        Stop
      </ActionButton>
      {items.length > 0 && <Menu label="More actions" button="More" items={items} />}
      {asking === "stop" && (
        <Dialog
          title={`Stop ${key.job}?`}
          onClose={() => setAsking(null)}
          actions={
            <button
              type="button"
              data-kind="primary"
              disabled={isBusy}
              onClick={() => void run("Stopping.", () => stopJob(key))}
            >
              Stop the job
            </button>
          }
        >
          <p>Running tasks get TERM, and KILL after their grace time. Tasks that have ended keep their results.</p>
        </Dialog>
      )}
      {asking === "scale" && (
        <ScaleDialog
          view={view}
          isBusy={isBusy}
          onClose={() => setAsking(null)}
          onScale={(counts) => void run("Scaled.", () => scaleJob(key, counts))}
        />
      )}
    </>
  );
}

interface ScaleDialogProps {
  view: JobView;
  isBusy: boolean;
  onClose: () => void;
  onScale: (counts: Record<string, number>) => void;
}

const COUNT_MAX = 10_000_000;

function ScaleDialog({ view, isBusy, onClose, onScale }: ScaleDialogProps) {
  const groups = view.groups.length > 0 ? view.groups : [{ name: "", count: view.update?.wanted ?? view.count }];
  const [counts, setCounts] = useState(() => Object.fromEntries(groups.map((group) => [group.name, group.count])));
  return (
    <Dialog
      title={`Scale ${view.name}`}
      onClose={onClose}
      actions={
        <button type="button" data-kind="primary" disabled={isBusy} onClick={() => onScale(counts)}>
          Scale
        </button>
      }
    >
      {groups.map((group) => (
        <label key={group.name}>
          Instances{group.name && ` of ${group.name}`}{" "}
          <input
            type="number"
            min={0}
            max={COUNT_MAX}
            value={counts[group.name]}
            onChange={(event) => setCounts({ ...counts, [group.name]: Number(event.target.value) })}
          />
        </label>
      ))}
    </Dialog>
  );
}
