/** One Scheduling: its stages as they pass, its jobs with their slots, and what can be done with it. */

import { useState } from "react";
import { deleteObject } from "../../api/actions";
import type { ObjectView } from "../../api/client";
import { ActionButton } from "../../components/ActionButton";
import { Elapsed } from "../../components/Clock";
import { Dialog } from "../../components/Dialog";
import { Glyph, StateMark } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import { nameOf, STAGES, stageOf, statusOf } from "../../model/testbeds";
import styles from "./Testbeds.module.css";

export function SchedulingRow({ scheduling, onExtend }: { scheduling: ObjectView; onExtend: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const key = nameOf(scheduling);
  const status = statusOf(scheduling);
  const current = status.state === "CompletedState" ? STAGES.length : stageOf(status.state);
  const canExtend = current >= 0;
  const since = scheduling.status?.since;
  const remove = async () => {
    try {
      await deleteObject("schedulings", key);
      say(`Deleting ${key.name}: its slots become free.`);
    } catch (error) {
      sayError(error);
    }
    setAsking(false);
  };
  return (
    <li className={styles.scheduling}>
      <span className={styles.schedulingHead}>
        <strong>{key.name}</strong>
        <StateMark state={status.state} word={status.state.replace(/State$/, "")} />
        {typeof since === "string" && (
          <span className="muted">
            for <Elapsed start={since} />
          </span>
        )}
        <span className={styles.rowActions}>
          {canExtend && (
            <ActionButton right="schedule" aria-label={`Extend ${key.name}`} onClick={onExtend}>
              Extend
            </ActionButton>
          )}
          <ActionButton right="schedule" aria-label={`Delete ${key.name}`} onClick={() => setAsking(true)}>
            Delete
          </ActionButton>
        </span>
      </span>
      {current >= 0 && (
        <ol className={styles.stages} aria-label="Stages">
          {STAGES.map((stage, index) => (
            <li key={stage} aria-current={index === current ? "step" : undefined}>
              <Glyph look={index < current ? "succeeded" : index === current ? "running" : "waiting"} /> {stage}
              <span className="visually-hidden">
                {index < current ? "done" : index === current ? "now" : "not yet"}
              </span>
            </li>
          ))}
        </ol>
      )}
      <span className="muted">
        {status.jobs
          .map(
            (job) => `${job.name} ${job.state}${job.slotIds.length > 0 ? ` in slots ${job.slotIds.join(", ")}` : ""}`,
          )
          .join("; ")}
      </span>
      {status.waitsFor.length > 0 && <span>Waits for {status.waitsFor.join(", ")}</span>}
      {status.problems.map((problem) => (
        <span key={problem}>
          <Glyph look="failed" /> {problem}
        </span>
      ))}
      {isAsking && (
        <Dialog
          title={`Delete ${key.name}?`}
          onClose={() => setAsking(false)}
          actions={
            <button type="button" data-kind="primary" onClick={() => void remove()}>
              Delete
            </button>
          }
        >
          <p>Its applications are stopped, its slots and BatchJobs become free. The history keeps it.</p>
        </Dialog>
      )}
    </li>
  );
}
