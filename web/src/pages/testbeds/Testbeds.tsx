/** All Testbeds with their slots, and the BatchJobs that can run in them. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ObjectView } from "../../api/client";
import { objectsQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { StateMark } from "../../components/StateMark";
import { plural } from "../../model/quantities";
import { nameOf, ofKind, schedulingsOf, slotsOfTestbed, stateOf } from "../../model/testbeds";
import { PageHead } from "../../shell/Page";
import { BatchJobDialog } from "./BatchJobDialog";
import { SlotGrid } from "./SlotGrid";
import { TestbedDialog } from "./TestbedDialog";
import styles from "./Testbeds.module.css";

export function Testbeds() {
  const objects = useQuery(objectsQuery);
  const [isAsking, setAsking] = useState(false);
  if (objects.isError && !objects.data) return <Failure error={objects.error} retry={() => void objects.refetch()} />;
  if (!objects.data) return <Loading />;
  const items = objects.data.items as ObjectView[];
  const testbeds = ofKind(items, "Testbed");
  return (
    <>
      <PageHead title="Testbeds">
        <ActionButton right="operate" data-kind="primary" onClick={() => setAsking(true)}>
          New testbed
        </ActionButton>
      </PageHead>
      {testbeds.length === 0 ? (
        <Empty title="No testbeds yet" command="shunter apply -f examples/testbeds/slots.yaml">
          A testbed reserves slots on labelled nodes, and a Scheduling gives them to BatchJobs. Create one here, or
          label a node and apply a file:
        </Empty>
      ) : (
        <div className={styles.stack}>
          {testbeds.map((testbed) => (
            <TestbedPanel key={String(testbed.metadata.uid)} testbed={testbed} items={items} />
          ))}
          <BatchJobs items={ofKind(items, "BatchJob")} />
        </div>
      )}
      {isAsking && <TestbedDialog onClose={() => setAsking(false)} />}
    </>
  );
}

function TestbedPanel({ testbed, items }: { testbed: ObjectView; items: ObjectView[] }) {
  const name = nameOf(testbed);
  const schedulings = schedulingsOf(items, name);
  return (
    <Panel
      title={`${name.name} in ${name.namespace}`}
      actions={
        <>
          <StateMark state={stateOf(testbed)} />
          <span>{plural(schedulings.length, "scheduling")}</span>
          <Link to="/testbeds/$namespace/$name/$tab" params={{ ...name, tab: "slots" }}>
            Open and schedule
          </Link>
        </>
      }
    >
      <SlotGrid slots={slotsOfTestbed(testbed)} />
    </Panel>
  );
}

function BatchJobs({ items }: { items: ObjectView[] }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Panel
      title="BatchJobs"
      isFlush
      actions={
        <ActionButton right="submit" onClick={() => setAsking(true)}>
          New BatchJob
        </ActionButton>
      }
    >
      {isAsking && (
        <BatchJobDialog
          namespace="default"
          taken={items.map((job) => nameOf(job).name)}
          onClose={() => setAsking(false)}
        />
      )}
      {items.length === 0 && <Empty title="No BatchJobs yet" command="shunter apply -f examples/testbeds/slots.yaml" />}
      {items.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Namespace</th>
              <th>State</th>
              <th data-align="end">Runs</th>
            </tr>
          </thead>
          <tbody>
            {items.map((job) => (
              <tr key={String(job.metadata.uid)}>
                <td>{nameOf(job).name}</td>
                <td>{nameOf(job).namespace}</td>
                <td>
                  <StateMark state={stateOf(job)} />
                </td>
                <td data-align="end">{String(job.status?.runs ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
