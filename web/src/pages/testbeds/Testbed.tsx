/** One testbed: its slots as they are, what is scheduled on it, and the builder of a Scheduling. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { deleteObject } from "../../api/actions";
import type { ObjectView } from "../../api/client";
import { objectsQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Dialog } from "../../components/Dialog";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { StateMark } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import { plural } from "../../model/quantities";
import { nameOf, ofKind, schedulingsOf, slotsOfTestbed, stateOf } from "../../model/testbeds";
import { PageHead } from "../../shell/Page";
import { BatchJobDialog } from "./BatchJobDialog";
import { Builder } from "./Builder";
import { SchedulingRow } from "./SchedulingRow";
import { TestbedDialog } from "./TestbedDialog";
import { TestbedProblems } from "./TestbedProblems";
import styles from "./Testbeds.module.css";

type Asking = "change" | "delete" | "job" | null;

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
  return <Content testbed={testbed} items={items} />;
}

function Content({ testbed, items }: { testbed: ObjectView; items: ObjectView[] }) {
  const key = nameOf(testbed);
  const [asking, setAsking] = useState<Asking>(null);
  const [extended, setExtended] = useState<string | null>(null);
  const [built, setBuilt] = useState(0);
  const builder = useRef<HTMLDivElement>(null);
  const schedulings = schedulingsOf(items, key);
  const base = schedulings.find((each) => String(each.metadata.uid) === extended);
  const extend = (scheduling: ObjectView) => {
    setExtended(String(scheduling.metadata.uid));
    builder.current?.scrollIntoView({ block: "start" });
  };
  const finish = () => {
    setExtended(null);
    setBuilt(built + 1);
  };
  return (
    <>
      <PageHead title={key.name} mark={<StateMark state={stateOf(testbed)} />}>
        <ActionButton right="submit" onClick={() => setAsking("job")}>
          New BatchJob
        </ActionButton>
        <ActionButton right="operate" onClick={() => setAsking("change")}>
          Change
        </ActionButton>
        <ActionButton right="operate" onClick={() => setAsking("delete")}>
          Delete
        </ActionButton>
      </PageHead>
      <TestbedProblems testbed={testbed} />
      <div className={styles.stack}>
        <Panel title="Schedulings" isFlush>
          {schedulings.length === 0 ? (
            <Empty title="Nothing is scheduled on this testbed" command="shunter get schedulings --past">
              Build a Scheduling below. Deleted ones stay in the history:
            </Empty>
          ) : (
            <ul>
              {schedulings.map((item) => (
                <SchedulingRow key={String(item.metadata.uid)} scheduling={item} onExtend={() => extend(item)} />
              ))}
            </ul>
          )}
        </Panel>
        <div ref={builder}>
          <Builder
            key={`${extended ?? "new"} ${built}`}
            testbed={key}
            slots={slotsOfTestbed(testbed)}
            items={items}
            base={base}
            onDone={finish}
          />
        </div>
      </div>
      {asking === "change" && <TestbedDialog testbed={testbed} onClose={() => setAsking(null)} />}
      {asking === "job" && (
        <BatchJobDialog
          namespace={key.namespace}
          taken={ofKind(items, "BatchJob").map((job) => nameOf(job).name)}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === "delete" && (
        <DeleteDialog testbed={testbed} schedulings={schedulings.length} onClose={() => setAsking(null)} />
      )}
    </>
  );
}

interface DeleteDialogProps {
  testbed: ObjectView;
  schedulings: number;
  onClose: () => void;
}

function DeleteDialog({ testbed, schedulings, onClose }: DeleteDialogProps) {
  const navigate = useNavigate();
  const key = nameOf(testbed);
  const remove = async () => {
    try {
      await deleteObject("testbeds", key);
      say(`Deleted the testbed ${key.name}.`);
      await navigate({ to: "/testbeds" });
    } catch (error) {
      sayError(error);
      onClose();
    }
  };
  return (
    <Dialog
      title={`Delete ${key.name}?`}
      onClose={onClose}
      actions={
        <button type="button" data-kind="primary" onClick={() => void remove()}>
          Delete
        </button>
      }
    >
      <p>
        Free slots go at once, used ones when their executors have ended.{" "}
        {schedulings > 0 && `${plural(schedulings, "Scheduling")} on it cannot request more slots.`}
      </p>
    </Dialog>
  );
}
