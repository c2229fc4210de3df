/** What another policy decides on the same input, next to what was decided. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { replayDecision } from "../../api/actions";
import type { Schemas } from "../../api/client";
import { policiesQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Command } from "../../components/Command";
import { Failure } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { ShareBar } from "../../components/ShareBar";
import { Glyph } from "../../components/StateMark";
import { differences } from "../../model/flightBars";
import { formatCount, percent, plural } from "../../model/quantities";
import styles from "./Decisions.module.css";

type Found = Schemas["DecisionReplay"];

const SHOWN_MAX = 30;

export function Replay({ id, onPick }: { id: string; onPick: (id: string) => void }) {
  const policies = (useQuery(policiesQuery).data?.items ?? []).filter(
    (policy) => ["policy", "score"].includes(policy.kind) && !policy.error,
  );
  const [chosen, setChosen] = useState("");
  const other = policies.find((policy) => !policy.active)?.name ?? "";
  const policy = chosen || other;
  const replay = useMutation({ mutationFn: () => replayDecision(id, policy) });
  const found = replay.data?.id === id ? replay.data : undefined;
  return (
    <Panel
      title="With another policy"
      actions={<Command text={`shunter flight export day.flight; shunter replay day.flight --policy ${policy}`} />}
    >
      <div className={styles.controls}>
        <label>
          Decide again with{" "}
          <select value={policy} onChange={(event) => setChosen(event.target.value)}>
            {policies.map(({ name, active }) => (
              <option key={name} value={name}>
                {name}
                {active ? " (active)" : ""}
              </option>
            ))}
          </select>
        </label>
        <ActionButton right="operate" disabled={replay.isPending || policy === ""} onClick={() => replay.mutate()}>
          Replay
        </ActionButton>
        {replay.isPending && <span role="status">Replaying…</span>}
      </div>
      {replay.isError && <Failure error={replay.error} />}
      {found && <Result found={found} onPick={onPick} />}
    </Panel>
  );
}

function Result({ found, onPick }: { found: Found; onPick: (id: string) => void }) {
  const rows = differences(found.recorded, found.replayed);
  const different = found.different ?? [];
  const next = different.find((each) => numberOf(each) > numberOf(found.id));
  return (
    <div className={styles.result} aria-live="polite">
      <p>
        {found.same ? (
          <>
            <Glyph look="succeeded" /> <strong>{found.policy}</strong> decides the same here.
          </>
        ) : (
          <>
            <Glyph look="starting" /> <strong>{found.policy}</strong> decides differently on{" "}
            {plural(rows.length, "node")}; {plural(found.left, "task")} would be left.
          </>
        )}
      </p>
      {rows.length > 0 && (
        <div className={styles.scroll}>
          <table>
            <thead>
              <tr>
                <th>Node</th>
                <th data-align="end">Recorded</th>
                <th data-align="end">{found.policy}</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, SHOWN_MAX).map((row) => (
                <tr key={row.node}>
                  <td>{row.node}</td>
                  <td data-align="end">{formatCount(row.recorded)}</td>
                  <td data-align="end">{formatCount(row.replayed)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(rows.length > SHOWN_MAX || found.truncated) && (
        <p className="muted">The first {formatCount(Math.min(SHOWN_MAX, rows.length))} nodes are shown.</p>
      )}
      {(found.reasons ?? []).slice(0, 5).map((reason) => (
        <p key={reason}>
          <Glyph look="waiting" /> {reason}
        </p>
      ))}
      <p>
        <ShareBar
          part={found.equal}
          whole={found.compared}
          text={`${percent(found.equal, found.compared)} of ${plural(found.compared, "decision")} of this part of the recording are equal`}
        />{" "}
        {next && (
          <button type="button" onClick={() => onPick(next)}>
            Next different one
          </button>
        )}
      </p>
      {found.missing > 0 && (
        <p className="muted">
          {plural(found.missing, "question")} of the policy have no answer in the recording; those nodes count as idle.
        </p>
      )}
    </div>
  );
}

function numberOf(id: string): number {
  return Number(id.split(".")[1]);
}
