/** All nodes as a map or as a table, grouped by datacenter, state or a label. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { nodeMapQuery } from "../../api/queries";
import { NodeMap } from "../../components/NodeMap";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { labelKeyOf, matchesNode } from "../../model/nodeFilter";
import { formatCount } from "../../model/quantities";
import { PageHead } from "../../shell/Page";
import styles from "./Nodes.module.css";
import { NodesTable } from "./NodesTable";

const MAP_HEIGHT_MAX = 620;
const DATACENTER = "datacenter";
const STATE = "state";

export function Nodes() {
  const { filter = "", view = "map" } = useSearch({ from: "/nodes" });
  const navigate = useNavigate({ from: "/nodes" });
  const [groupBy, setGroupBy] = useState(DATACENTER);
  const label = labelKeyOf(filter);
  const key = label ?? (groupBy === STATE ? DATACENTER : groupBy);
  const nodes = useQuery(nodeMapQuery(key));
  const all = useMemo(() => {
    const named = (group: string) => (key === DATACENTER ? group : `${key}=${group || "(none)"}`);
    return (nodes.data ?? []).map((node) => ({ ...node, group: named(node.group) }));
  }, [nodes.data, key]);
  const found = useMemo(() => all.filter((node) => matchesNode(node, filter)), [all, filter]);
  const tiles = useMemo(
    () => (groupBy === STATE ? found.map((node) => ({ ...node, group: node.state })) : found),
    [found, groupBy],
  );
  const search = (next: { filter?: string | undefined; view?: string | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true });
  if (nodes.isError && !nodes.data) return <Failure error={nodes.error} retry={() => void nodes.refetch()} />;
  if (!nodes.data) return <Loading />;
  if (all.length === 0) return <Empty title="No nodes yet" command="shunter worker MANAGER:PORT" />;
  return (
    <>
      <PageHead title="Nodes" mark={<span className="muted">{formatCount(all.length)}</span>} />
      <div className={styles.controls}>
        <div className={styles.views}>
          {["map", "table"].map((each) => (
            <Link
              key={each}
              to="/nodes"
              search={{ filter: filter || undefined, view: each }}
              aria-current={each === view ? "true" : undefined}
            >
              {each}
            </Link>
          ))}
        </div>
        <input
          type="search"
          aria-label="Filter of nodes"
          placeholder="name, state or label=value"
          value={filter}
          onChange={(event) => search({ filter: event.target.value || undefined })}
        />
        <GroupBy chosen={groupBy} onChoose={setGroupBy} />
        <span className="muted">
          {formatCount(found.length)} of {formatCount(all.length)} nodes
        </span>
      </div>
      {found.length === 0 ? (
        <Empty title={`No node matches “${filter}”`} />
      ) : view === "table" ? (
        <NodesTable nodes={found} groupTitle={key} />
      ) : (
        <Panel title="Reserved share of each node">
          <NodeMap
            nodes={tiles}
            heightMax={MAP_HEIGHT_MAX}
            onOpen={(name) => void navigate({ to: "/nodes/$name/$tab", params: { name, tab: "tasks" } })}
          />
        </Panel>
      )}
    </>
  );
}

/** The key of any label may be written; nothing happens until Enter or another field. */
function GroupBy({ chosen, onChoose }: { chosen: string; onChoose: (key: string) => void }) {
  const [text, setText] = useState(chosen);
  const settle = () => {
    const key = text.trim() || DATACENTER;
    setText(key);
    onChoose(key);
  };
  return (
    <label>
      Group by{" "}
      <input
        type="text"
        list="node-groups"
        className={styles.groupBy}
        placeholder="key of a label"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={settle}
        onKeyDown={(event) => event.key === "Enter" && settle()}
      />
      <datalist id="node-groups">
        <option value={DATACENTER} />
        <option value={STATE} />
      </datalist>
    </label>
  );
}
