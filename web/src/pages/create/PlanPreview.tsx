/** What a submit would do now: placements, preemptions, what waits and why. Asked again when the manifest changes. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { planManifests } from "../../api/actions";
import type { PlanView } from "../../api/client";
import { Failure } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import type { ParsedManifest } from "../../model/manifest";
import { capitalize, plural } from "../../model/quantities";
import { useRefusal } from "../../shell/useRefusal";
import styles from "./Create.module.css";

const PAUSE_MS = 400;
const PLACEMENTS_MAX = 12;

export function PlanPreview({ manifest }: { manifest: ParsedManifest }) {
  const documents = useSettled(manifest.documents);
  const refusal = useRefusal("submit");
  const plan = useQuery({
    queryKey: ["plan", documents],
    queryFn: () => planManifests(documents),
    enabled: documents.length > 0 && refusal === null,
    placeholderData: keepPreviousData,
  });
  return (
    <Panel title="Plan: what would happen now" actions={plan.data && <span>policy {plan.data.policy}</span>}>
      {refusal ? (
        <p className="muted">{refusal}</p>
      ) : manifest.problem ? (
        <p role="alert">
          <Glyph look="failed" /> {manifest.problem}
        </p>
      ) : plan.isError ? (
        <Failure error={plan.error} />
      ) : plan.data ? (
        <Plan plan={plan.data} />
      ) : (
        <p className="muted">Asking the planner.</p>
      )}
    </Panel>
  );
}

function Plan({ plan }: { plan: PlanView }) {
  return (
    <div className={styles.plan} aria-live="polite">
      <p>
        <Glyph look={plan.starts ? "running" : "waiting"} /> <strong>{capitalize(plan.sentence)}</strong>
      </p>
      {plan.jobs.map((job) => (
        <div key={`${job.namespace}/${job.name}`} className={styles.planned}>
          <span>
            {job.name} {job.verdict}: {job.sentence}
          </span>
          {(job.placements ?? []).length > 0 && (
            <span className="muted">
              {(job.placements ?? [])
                .slice(0, PLACEMENTS_MAX)
                .map((placed) => `${plural(placed.count, "task")} on ${placed.node}`)
                .join(", ")}
              {(job.placements ?? []).length > PLACEMENTS_MAX &&
                `, and ${plural((job.placements ?? []).length - PLACEMENTS_MAX, "more node")}`}
            </span>
          )}
          {(job.reasons ?? []).map((reason) => (
            <span key={reason.text} className="muted">
              {plural(reason.nodes, "node")}: {reason.text}
            </span>
          ))}
        </div>
      ))}
      {(plan.objects ?? []).map((object) => (
        <div key={`${object.kind} ${object.name}`} className={styles.planned}>
          {object.kind} {object.name} {object.verdict}: {object.sentence}
        </div>
      ))}
      {(plan.preemptions ?? []).map((preempted) => (
        <p key={`${preempted.name} ${preempted.node}`}>
          <Glyph look="failed" /> preempts {plural(preempted.count, "task")} of {preempted.name} on {preempted.node}
        </p>
      ))}
    </div>
  );
}

/** The value, once it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
