/** What the planner says about a draft, and its manifest; nothing is created by it. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { stringify } from "yaml";
import { planManifests } from "../../api/actions";
import { describeError } from "../../api/problems";
import { Glyph } from "../../components/StateMark";
import type { Look } from "../../model/states";
import styles from "./Testbeds.module.css";

const LOOKS: Record<string, Look> = { ready: "succeeded", starts: "running", waits: "waiting", fails: "failed" };

export function Preview({ isEmpty, manifest }: { isEmpty: boolean; manifest: Record<string, unknown> }) {
  const wanted = useDeferredValue(isEmpty ? null : manifest);
  const plan = useQuery({
    queryKey: ["plan", wanted],
    queryFn: () => planManifests(wanted ? [wanted] : []),
    enabled: wanted !== null,
    retry: false,
    placeholderData: keepPreviousData,
  });
  if (isEmpty) return null;
  return (
    <div className={styles.preview}>
      {plan.isError ? (
        <span role="alert">
          <Glyph look="failed" /> {describeError(plan.error)}
        </span>
      ) : (
        (plan.data?.objects ?? []).map((object) => (
          <div key={object.name} aria-live="polite">
            <p>
              <Glyph look={LOOKS[object.verdict] ?? "waiting"} /> Preview: {object.sentence}
            </p>
            {(object.reasons ?? [])
              .filter(({ text }) => !object.sentence.includes(text))
              .map((reason) => (
                <p key={reason.text} className="muted">
                  {reason.text}
                </p>
              ))}
          </div>
        ))
      )}
      <details>
        <summary>Manifest</summary>
        <pre>{stringify(manifest)}</pre>
      </details>
    </div>
  );
}
