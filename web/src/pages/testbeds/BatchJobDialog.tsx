/** A new BatchJob that runs a command in each of its slots. Spark and Flink have more fields: those are on "Create". */
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { applyManifests } from "../../api/actions";
import { Dialog } from "../../components/Dialog";
import { say, sayError } from "../../components/Toasts";
import { splitWords } from "../../model/manifest";
import { freeName } from "../../model/slotBoard";
import styles from "./Testbeds.module.css";

const COMMAND = 'sh -c "echo executor $SHUNTER_EXECUTOR_INDEX; sleep 20"';

export function BatchJobDialog({
  namespace,
  taken,
  onClose,
}: {
  namespace: string;
  taken: string[];
  onClose: () => void;
}) {
  const [name, setName] = useState(() => freeName(taken, "job"));
  const [command, setCommand] = useState(COMMAND);
  const queries = useQueryClient();
  const create = async () => {
    const manifest = {
      apiVersion: "batchjob.gcr.io/v1alpha1",
      kind: "BatchJob",
      metadata: { name, namespace },
      spec: { commandSpec: { command: splitWords(command) } },
    };
    try {
      await applyManifests([manifest]);
      say(`Created the BatchJob ${name}.`);
      await queries.invalidateQueries({ queryKey: ["objects"] });
      onClose();
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <Dialog
      title="New BatchJob"
      onClose={onClose}
      actions={
        <button
          type="button"
          data-kind="primary"
          disabled={name === "" || command.trim() === ""}
          onClick={() => void create()}
        >
          Create
        </button>
      }
    >
      <div className={styles.form}>
        <label className={styles.field}>
          BatchJob
          <input type="text" value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label className={`${styles.field} ${styles.wide}`}>
          Command of each executor
          <input type="text" value={command} onChange={(event) => setCommand(event.target.value)} />
        </label>
      </div>
      <p className="muted">
        For Spark, Flink and everything else, <Link to="/create">write the manifest</Link>.
      </p>
    </Dialog>
  );
}
