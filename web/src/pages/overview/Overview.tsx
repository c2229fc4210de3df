/** The first page: what needs attention, how much there is of everything, and every node. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { clusterQuery, nodeMapQuery } from "../../api/queries";
import { NodeMap } from "../../components/NodeMap";
import { Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import type { NodeTile } from "../../model/nodeView";
import { plural } from "../../model/quantities";
import { seesCluster } from "../../model/rights";
import { PageHead } from "../../shell/Page";
import { useMe } from "../../shell/useRefusal";
import { Attention } from "./Attention";
import { Counts } from "./Counts";
import styles from "./Overview.module.css";
import { Pulse } from "./Pulse";
import { RecentEvents } from "./RecentEvents";

const PartOverview = lazy(() => import("./PartOverview"));
const MAP_HEIGHT_MAX = 420;
const NO_NODES: NodeTile[] = [];

export function Overview() {
  const me = useMe();
  if (!me) return <Loading />;
  if (seesCluster(me)) return <ClusterOverview />;
  return (
    <Suspense fallback={<Loading />}>
      <PartOverview me={me} />
    </Suspense>
  );
}

function ClusterOverview() {
  const cluster = useQuery(clusterQuery);
  const nodes = useQuery(nodeMapQuery("datacenter"));
  const navigate = useNavigate();
  const tiles = nodes.data ?? NO_NODES;
  if (cluster.isError && !cluster.data) return <Failure error={cluster.error} retry={() => void cluster.refetch()} />;
  if (!cluster.data) return <Loading />;
  return (
    <>
      <PageHead title="Overview" />
      <div className={styles.page}>
        <Counts cluster={cluster.data} />
        <Attention nodes={tiles} />
        <Pulse cluster={cluster.data} />
        <Panel title="Nodes by reserved share" actions={<span>{plural(tiles.length, "node")}</span>}>
          <NodeMap
            nodes={tiles}
            heightMax={MAP_HEIGHT_MAX}
            onOpen={(name) => void navigate({ to: "/nodes/$name/$tab", params: { name, tab: "tasks" } })}
          />
        </Panel>
        <RecentEvents />
      </div>
    </>
  );
}
