/** Why tasks of the job wait, when they are expected to start, and changes that the planner has tested. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { applySuggestion } from "../../api/actions";
import type { JobView, SuggestionView } from "../../api/client";
import { type JobKey, whyQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import { referenceOf } from "../../model/attention";
import { plural } from "../../model/quantities";
import styles from "./Job.module.css";

const REFRESH_MS = 5000;

export function WhyPanel({ view }: { view: JobView }) {
  const key = { namespace: view.namespace, job: referenceOf(view) };
  const why = useQuery({ ...whyQuery(key), refetchInterval: REFRESH_MS }).data;
  if (!why) return null;
  return (
    <div style={{ marginBottom: 14 }}>
      <Panel title="Why it waits" actions={<Command text={`shunter why ${key.job}`} />}>
        <div className={styles.why}>
          <p>
            <Glyph look="waiting" /> {why.sentence}
          </p>
          <ul className={styles.reasons} hidden={(why.reasons ?? []).length === 0}>
            {(why.reasons ?? []).map((reason) => (
              <li key={reason.text} className={styles.whyLine}>
                <span className="muted">{plural(reason.nodes, "node")}</span>
                <span>{reason.text}</span>
                {reason.examples && reason.examples.length > 0 && (
                  <span className="muted">such as {reason.examples.slice(0, 3).join(", ")}</span>
                )}
              </li>
            ))}
          </ul>
          {why.start && (
            <p className="muted">
              {why.start.at ? (
                <>
                  Expected to start about <Time at={why.start.at} />: {why.start.basis}
                </>
              ) : (
                <>Start unknown: {why.start.basis}</>
              )}
            </p>
          )}
          {(why.suggestions ?? []).map((suggestion) => (
            <Suggestion
              key={suggestion.field + JSON.stringify(suggestion.after)}
              jobKey={key}
              suggestion={suggestion}
            />
          ))}
        </div>
      </Panel>
    </div>
  );
}

function Suggestion({ jobKey, suggestion }: { jobKey: JobKey; suggestion: SuggestionView }) {
  const [isPlanned, setPlanned] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const navigate = useNavigate();
  const apply = async () => {
    setBusy(true);
    try {
      const job = await applySuggestion(jobKey, suggestion);
      say(`Applied: ${suggestion.text}.`);
      const params = { namespace: job.namespace, job: referenceOf(job), tab: "tasks" };
      await navigate({ to: "/jobs/$namespace/$job/$tab", params });
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  };
  return (
    <div className={styles.suggestion}>
      <span>{suggestion.text}</span>
      <span className={styles.suggestionActions}>
        <button type="button" aria-expanded={isPlanned} onClick={() => setPlanned(!isPlanned)}>
          Plan
        </button>
        <ActionButton right="applySuggestion" data-kind="primary" disabled={isBusy} onClick={() => void apply()}>
          Apply
        </ActionButton>
      </span>
      <span className="muted">
        starts {plural(suggestion.starts ?? 0, "task")} at once
        {suggestion.preempts ? `, preempts ${plural(suggestion.preempts, "task")}` : ""}
      </span>
      {isPlanned && (
        <p>
          <code>
            {suggestion.field}: {JSON.stringify(suggestion.before)} → {JSON.stringify(suggestion.after)}
          </code>{" "}
          The planner tested it on a copy of the state: a task fits on {plural(suggestion.nodes ?? 0, "node")} then.
        </p>
      )}
    </div>
  );
}
