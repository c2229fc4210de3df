/** Cordon, drain, and their opposites. */

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { cordonNode, drainNode, releaseNode, uncordonNode, undrainNode } from "../../api/actions";
import type { NodeView } from "../../api/client";
import { ActionButton } from "../../components/ActionButton";
import { Dialog } from "../../components/Dialog";
import { say, sayError } from "../../components/Toasts";
import { nodeState } from "../../model/states";
import styles from "./Nodes.module.css";

type Asking = "cordon" | "drain" | null;

export function NodeActions({ node }: { node: NodeView }) {
  const [asking, setAsking] = useState<Asking>(null);
  const [text, setText] = useState("");
  const queries = useQueryClient();
  const state = nodeState(node);
  const run = async (done: string, action: () => Promise<unknown>) => {
    try {
      await action();
      say(done);
      setAsking(null);
      await queries.invalidateQueries({ queryKey: ["node", node.name] });
    } catch (error) {
      sayError(error);
    }
  };
  const ask = (next: Asking) => {
    setText("");
    setAsking(next);
  };
  return (
    <>
      {state === "cordoned" && (
        <ActionButton
          right="operate"
          onClick={() => void run("Uncordoned: tasks may start again.", () => uncordonNode(node.name))}
        >
          Uncordon
        </ActionButton>
      )}
      {state === "quarantined" && (
        <ActionButton
          right="operate"
          onClick={() => void run("Released from quarantine.", () => releaseNode(node.name))}
        >
          Release
        </ActionButton>
      )}
      {state === "ready" && (
        <ActionButton right="operate" onClick={() => ask("cordon")}>
          Cordon
        </ActionButton>
      )}
      {state === "draining" || state === "drained" ? (
        <ActionButton right="operate" onClick={() => void run("The drain has ended.", () => undrainNode(node.name))}>
          End the drain
        </ActionButton>
      ) : (
        <ActionButton right="operate" disabled={state === "down"} onClick={() => ask("drain")}>
          Drain
        </ActionButton>
      )}
      {asking === "cordon" && (
        <Dialog
          title={`Cordon ${node.name}?`}
          onClose={() => setAsking(null)}
          actions={
            <button
              type="button"
              data-kind="primary"
              onClick={() => void run("Cordoned.", () => cordonNode(node.name, text))}
            >
              Cordon
            </button>
          }
        >
          <div className={styles.form}>
            <p>No new task starts on it. What runs there goes on.</p>
            <label>
              Reason
              <input
                type="text"
                value={text}
                placeholder="new disk"
                onChange={(event) => setText(event.target.value)}
              />
            </label>
          </div>
        </Dialog>
      )}
      {asking === "drain" && (
        <Dialog
          title={`Drain ${node.name}?`}
          onClose={() => setAsking(null)}
          actions={
            <button
              type="button"
              data-kind="primary"
              onClick={() => void run("Draining.", () => drainNode(node.name, text))}
            >
              Drain
            </button>
          }
        >
          <div className={styles.form}>
            <p>Services move to other nodes, batch tasks may finish until the deadline.</p>
            <label>
              Deadline
              <input type="text" value={text} placeholder="10m" onChange={(event) => setText(event.target.value)} />
            </label>
          </div>
        </Dialog>
      )}
    </>
  );
}
