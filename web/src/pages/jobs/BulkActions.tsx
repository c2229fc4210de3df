/** What can be done with the selected jobs. Each job answers for itself; the message counts both outcomes. */

import { useState } from "react";
import { holdJob, releaseJob, retryJob, stopJob } from "../../api/actions";
import type { JobView } from "../../api/client";
import { describeError } from "../../api/problems";
import type { JobKey } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Dialog } from "../../components/Dialog";
import { say, sayError } from "../../components/Toasts";
import { referenceOf } from "../../model/attention";
import { plural } from "../../model/quantities";
import { isDone } from "../../model/states";
import styles from "./Jobs.module.css";

interface BulkActionsProps {
  jobs: JobView[];
  onDone: () => void;
  onSelectAll: () => void;
}

const NAMED_MAX = 8;

export function BulkActions({ jobs, onDone, onSelectAll }: BulkActionsProps) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  if (jobs.length === 0) return null;
  const run = async (done: string, action: (key: JobKey) => Promise<unknown>, chosen: JobView[]) => {
    setBusy(true);
    const results = await Promise.allSettled(
      chosen.map((job) => action({ namespace: job.namespace, job: referenceOf(job) })),
    );
    const failed = results.filter((result) => result.status === "rejected");
    if (results.length > failed.length) say(`${plural(results.length - failed.length, "job")} ${done}.`);
    if (failed[0]) sayError(new Error(`${plural(failed.length, "job")} refused: ${describeError(failed[0].reason)}`));
    setBusy(false);
    setAsking(false);
    onDone();
  };
  const live = jobs.filter((job) => !isDone(job.state));
  const ended = jobs.filter((job) => isDone(job.state));
  return (
    <div className={styles.bulk} role="toolbar" aria-label="Selected jobs">
      <strong>{jobs.length} selected</strong>
      <ActionButton right="submit" disabled={isBusy || live.length === 0} onClick={() => setAsking(true)}>
        Stop
      </ActionButton>
      <ActionButton
        right="submit"
        disabled={isBusy || live.length === 0}
        onClick={() => void run("held", holdJob, live)}
      >
        Hold
      </ActionButton>
      <ActionButton
        right="submit"
        disabled={isBusy || live.length === 0}
        onClick={() => void run("released", releaseJob, live)}
      >
        Release
      </ActionButton>
      <ActionButton
        right="submit"
        disabled={isBusy || ended.length === 0}
        onClick={() => void run("started again", (key) => retryJob(key, false), ended)}
      >
        Retry
      </ActionButton>
      <button type="button" data-kind="plain" onClick={onSelectAll}>
        Select all on this page
      </button>
      <button type="button" data-kind="plain" onClick={onDone}>
        Clear
      </button>
      {isAsking && (
        <Dialog
          title={`Stop ${plural(live.length, "job")}?`}
          onClose={() => setAsking(false)}
          actions={
            <button
              type="button"
              data-kind="primary"
              disabled={isBusy}
              onClick={() => void run("told to stop", stopJob, live)}
            >
              Stop
            </button>
          }
        >
          <p>Their running tasks get TERM, and KILL after their grace time. Finished tasks keep their results.</p>
          <p className="muted">{namesOf(live)}</p>
        </Dialog>
      )}
    </div>
  );
}

function namesOf(jobs: JobView[]): string {
  const names = jobs.slice(0, NAMED_MAX).map(referenceOf).join(", ");
  return jobs.length > NAMED_MAX ? `${names} and ${jobs.length - NAMED_MAX} more` : names;
}
