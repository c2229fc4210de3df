/** One testbed: its slots as they are, what is scheduled on it, and the builder of a new Scheduling. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { deleteScheduling } from "../../api/actions";
import type { ObjectView } from "../../api/client";
import { objectsQuery } from "../../api/queries";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { Glyph, StateMark } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import {
  nameOf,
  ofKind,
  STAGES,
  schedulingsOf,
  slotsOfTestbed,
  stageOf,
  stateOf,
  statusOf,
} from "../../model/testbeds";
import { PageHead } from "../../shell/Page";
import { Builder } from "./Builder";
import styles from "./Testbeds.module.css";

export function TestbedPage() {
  const { namespace, name } = useParams({ from: "/testbeds/$namespace/$name/$tab" });
  const objects = useQuery(objectsQuery);
  if (objects.isError && !objects.data) return <Failure error={objects.error} retry={() => void objects.refetch()} />;
  if (!objects.data) return <Loading />;
  const items = objects.data.items as ObjectView[];
  const testbed = ofKind(items, "Testbed").find(
    (each) => nameOf(each).name === name && nameOf(each).namespace === namespace,
  );
  if (!testbed) return <Empty title={`There is no testbed ${name} in ${namespace}`} command="shunter get testbeds" />;
  return (
    <>
      <PageHead title={name} mark={<StateMark state={stateOf(testbed)} />} />
      <div className={styles.stack}>
        <Schedulings items={schedulingsOf(items, { name, namespace })} />
        <Builder testbed={{ name, namespace }} slots={slotsOfTestbed(testbed)} jobs={ofKind(items, "BatchJob")} />
      </div>
    </>
  );
}

function Schedulings({ items }: { items: ObjectView[] }) {
  return (
    <Panel title="Schedulings" isFlush>
      {items.length === 0 ? (
        <Empty title="Nothing is scheduled on this testbed">Build a Scheduling below.</Empty>
      ) : (
        <ul>
          {items.map((item) => (
            <SchedulingRow key={String(item.metadata.uid)} scheduling={item} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function SchedulingRow({ scheduling }: { scheduling: ObjectView }) {
  const key = nameOf(scheduling);
  const status = statusOf(scheduling);
  const current = status.state === "CompletedState" ? STAGES.length : stageOf(status.state);
  const remove = () =>
    void deleteScheduling(key).then(() => say(`Deleting ${key.name}: its slots become free.`), sayError);
  return (
    <li className={styles.scheduling}>
      <span className={styles.controls} style={{ marginBottom: 0 }}>
        <strong>{key.name}</strong>
        <StateMark state={status.state} word={status.state.replace(/State$/, "")} />
        <button type="button" onClick={remove}>
          Delete
        </button>
      </span>
      {current >= 0 && (
        <ol className={styles.stages} aria-label="Stages">
          {STAGES.map((stage, index) => (
            <li key={stage} aria-current={index === current ? "step" : undefined}>
              <Glyph look={index < current ? "succeeded" : index === current ? "running" : "waiting"} /> {stage}
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
      {status.problems.map((problem) => (
        <span key={problem}>
          <Glyph look="failed" /> {problem}
        </span>
      ))}
    </li>
  );
}
