/** The page of one node: what it has, what runs on it, what it used. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { NodeView } from "../../api/client";
import { ApiError } from "../../api/problems";
import { nodeMetricsQuery, nodeQuery } from "../../api/queries";
import { Ago } from "../../components/Clock";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { ShareBar } from "../../components/ShareBar";
import { StateMark } from "../../components/StateMark";
import { Tabs } from "../../components/Tabs";
import { UsageCharts } from "../../components/UsageCharts";
import { formatResource, parseAmount } from "../../model/quantities";
import { nodeState } from "../../model/states";
import { PageHead } from "../../shell/Page";
import { NodeActions } from "./NodeActions";
import styles from "./Nodes.module.css";
import { NodeTasks } from "./NodeTasks";

const TABS = [
  { id: "tasks", label: "Tasks" },
  { id: "usage", label: "Usage" },
  { id: "labels", label: "Labels and attributes" },
] as const;

export function NodePage() {
  const { name, tab } = useParams({ from: "/nodes/$name/$tab" });
  const node = useQuery(nodeQuery(name));
  if (node.isError && !node.data) {
    const isUnknown = node.error instanceof ApiError && node.error.status === 404;
    return isUnknown ? (
      <Empty title={`There is no node ${name}`} command="shunter nodes" />
    ) : (
      <Failure error={node.error} />
    );
  }
  if (!node.data) return <Loading />;
  return (
    <>
      <PageHead title={name} mark={<NodeMark node={node.data} />}>
        <NodeActions node={node.data} />
      </PageHead>
      <div className={styles.stack}>
        <Capacity node={node.data} />
        <div>
          <Tabs label="Parts of the node" tabs={TABS} to="/nodes/$name/$tab" params={{ name, tab }} />
          {tab === "usage" ? (
            <Usage name={name} />
          ) : tab === "labels" ? (
            <Labels node={node.data} />
          ) : (
            <NodeTasks name={name} />
          )}
        </div>
      </div>
    </>
  );
}

function NodeMark({ node }: { node: NodeView }) {
  return (
    <>
      <StateMark state={nodeState(node)} />
      {node.reason && <span>{node.reason}</span>}
      {node.heard_at && (
        <span className="muted">
          heard <Ago at={node.heard_at} />
        </span>
      )}
    </>
  );
}

function Capacity({ node }: { node: NodeView }) {
  return (
    <Panel title="Reserved of what the node has">
      <dl className={styles.facts}>
        {Object.entries(node.capacity).map(([kind, amount]) => (
          <Resource key={kind} kind={kind} whole={amount} part={node.reserved[kind]} />
        ))}
      </dl>
    </Panel>
  );
}

function Resource({ kind, whole, part }: { kind: string; whole: string; part: string | undefined }) {
  return (
    <>
      <dt>{kind}</dt>
      <dd>
        <ShareBar
          part={parseAmount(part)}
          whole={parseAmount(whole)}
          text={`${formatResource(kind, parseAmount(part))} / ${formatResource(kind, parseAmount(whole))}`}
        />
      </dd>
    </>
  );
}

function Usage({ name }: { name: string }) {
  const metrics = useQuery(nodeMetricsQuery(name));
  const measured = metrics.data?.nodes?.[0]?.metrics ?? {};
  if (metrics.isError) return <Failure error={metrics.error} />;
  if (!metrics.data) return <Loading />;
  if (Object.keys(measured).length === 0) return <Empty title="No samples of this node in the last ten minutes" />;
  return (
    <div className={styles.charts}>
      <UsageCharts metrics={measured} start={metrics.data.start} stop={metrics.data.stop} />
    </div>
  );
}

function Labels({ node }: { node: NodeView }) {
  const entries = [...Object.entries(node.labels), ...Object.entries(node.attributes)];
  return (
    <Panel title="Labels and attributes">
      <dl className={styles.facts}>
        {entries.map(([name, value]) => (
          <Label key={name} name={name} value={value} />
        ))}
      </dl>
    </Panel>
  );
}

function Label({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
