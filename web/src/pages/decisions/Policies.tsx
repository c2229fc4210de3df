/** The policies, and a switch that takes effect in the next round. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { activatePolicy } from "../../api/actions";
import { policiesQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Dialog } from "../../components/Dialog";
import { Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import styles from "./Decisions.module.css";

export function Policies() {
  const policies = useQuery(policiesQuery);
  const queries = useQueryClient();
  const [asked, setAsked] = useState<string | null>(null);
  if (policies.isError && !policies.data) return <Failure error={policies.error} />;
  if (!policies.data) return <Loading />;
  const usable = policies.data.items.filter((policy) => ["policy", "score", "remote"].includes(policy.kind));
  const observers = policies.data.items.filter((policy) => policy.kind === "shadow");
  const activate = async (name: string) => {
    try {
      await activatePolicy(name);
      say(`${name} decides from the next round on.`);
      await queries.invalidateQueries({
        predicate: ({ queryKey }) => ["policies", "cluster", "me"].includes(String(queryKey[0])),
      });
    } catch (error) {
      sayError(error);
    }
    setAsked(null);
  };
  return (
    <Panel title="Policies">
      <div className={styles.policies}>
        {usable.map((policy) => (
          <ActionButton
            key={policy.name}
            right="operate"
            aria-pressed={policy.active}
            disabled={policy.error !== null && policy.error !== undefined}
            title={policy.error ?? `${policy.kind}, ${policy.source}`}
            onClick={() => !policy.active && setAsked(policy.name)}
          >
            {policy.active && <Glyph look="running" />}
            {policy.name}
            {policy.active && <span className="visually-hidden">(active)</span>}
          </ActionButton>
        ))}
      </div>
      {observers.map((policy) => (
        <p key={policy.name} className="muted">
          {policy.name} decides along as a shadow: {policy.source}
        </p>
      ))}
      {asked && (
        <Dialog
          title={`Let ${asked} decide?`}
          onClose={() => setAsked(null)}
          actions={
            <button type="button" data-kind="primary" onClick={() => void activate(asked)}>
              Switch the policy
            </button>
          }
        >
          <p>It takes effect in the next round. Tasks that are placed stay where they are.</p>
        </Dialog>
      )}
    </Panel>
  );
}
