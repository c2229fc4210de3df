/** A new Testbed, or another size of one: its form, which nodes have its label, and what the planner says. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { applyManifests, labelNode } from "../../api/actions";
import type { ObjectView } from "../../api/client";
import { nodeMapQuery } from "../../api/queries";
import { Command } from "../../components/Command";
import { Dialog } from "../../components/Dialog";
import { say, sayError } from "../../components/Toasts";
import { formatCount, plural } from "../../model/quantities";
import { formOf, NEW_TESTBED, type TestbedForm, testbedOf } from "../../model/testbeds";
import { Preview } from "./Preview";
import styles from "./Testbeds.module.css";

const LABELLED_MAX = 20; // by one click
const LABEL_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;

export function TestbedDialog({ testbed, onClose }: { testbed?: ObjectView; onClose: () => void }) {
  const [form, setForm] = useState<TestbedForm>(() => (testbed ? formOf(testbed) : NEW_TESTBED));
  const queries = useQueryClient();
  const isComplete = form.name !== "" && LABEL_KEY.test(form.nodeLabel) && form.slotsPerNode > 0;
  const manifest = testbedOf(form, testbed);
  const submit = async () => {
    try {
      await applyManifests([manifest]);
      say(testbed ? `Changed the testbed ${form.name}.` : `Created the testbed ${form.name}.`);
      await queries.invalidateQueries({ queryKey: ["objects"] });
      onClose();
    } catch (error) {
      sayError(error);
    }
  };
  const set = (change: Partial<TestbedForm>) => setForm({ ...form, ...change });
  return (
    <Dialog
      title={testbed ? `Change ${form.name}` : "New testbed"}
      onClose={onClose}
      actions={
        <button type="button" data-kind="primary" disabled={!isComplete} onClick={() => void submit()}>
          {testbed ? "Change" : "Create"}
        </button>
      }
    >
      <div className={styles.form}>
        {!testbed && (
          <>
            <Field label="Testbed">
              <input type="text" value={form.name} onChange={(event) => set({ name: event.target.value })} />
            </Field>
            <Field label="Namespace">
              <input type="text" value={form.namespace} onChange={(event) => set({ namespace: event.target.value })} />
            </Field>
          </>
        )}
        <Field label="Label of its nodes">
          <input type="text" value={form.nodeLabel} onChange={(event) => set({ nodeLabel: event.target.value })} />
        </Field>
        <Field label="Slots on each node">
          <input
            type="number"
            min={1}
            value={form.slotsPerNode}
            onChange={(event) => set({ slotsPerNode: Number(event.target.value) })}
          />
        </Field>
        <Field label="cpu of a slot">
          <input type="text" value={form.cpu} onChange={(event) => set({ cpu: event.target.value })} />
        </Field>
        <Field label="Memory of a slot">
          <input
            type="text"
            value={form.memory}
            placeholder="no request"
            onChange={(event) => set({ memory: event.target.value })}
          />
        </Field>
        <Field label="Who may use it">
          <select value={form.sharing} onChange={(event) => set({ sharing: event.target.value })}>
            <option value="exclusive">one Scheduling at a time</option>
            <option value="disjoint">several, in different slots</option>
          </select>
        </Field>
      </div>
      {LABEL_KEY.test(form.nodeLabel) && <Labelled label={form.nodeLabel} />}
      <Preview isEmpty={!isComplete} manifest={manifest} />
    </Dialog>
  );
}

function Field({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is its child
    <label className={styles.field}>
      {label}
      {children}
    </label>
  );
}

/** How many nodes have the label. Without any, the first nodes get it by a click. */
function Labelled({ label }: { label: string }) {
  const nodes = useQuery(nodeMapQuery(label));
  const [isBusy, setBusy] = useState(false);
  if (!nodes.data) return null;
  const labelled = nodes.data.filter((node) => node.group !== "").length;
  if (labelled > 0) return <p className="muted">{plural(labelled, "node")} with this label.</p>;
  const chosen = nodes.data.filter((node) => node.state === "ready").slice(0, LABELLED_MAX);
  const labelAll = async () => {
    setBusy(true);
    try {
      for (const [number, node] of chosen.entries()) await labelNode(node.name, { [label]: String(number) });
      await nodes.refetch();
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  };
  return (
    <div className={styles.labelled}>
      <p>No node has this label. Its value, a whole number, orders the nodes.</p>
      <Command text={`shunter node label ${chosen[0]?.name ?? "NODE"} ${label}=0`} />
      {chosen.length > 0 && (
        <button type="button" disabled={isBusy} onClick={() => void labelAll()}>
          Label {chosen.length === 1 ? chosen[0]?.name : `the first ${formatCount(chosen.length)} nodes`}
        </button>
      )}
    </div>
  );
}
