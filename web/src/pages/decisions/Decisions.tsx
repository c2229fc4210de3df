/** What the policies are, which one decides, and what it decided: newest first, with what was left and why. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { decisionsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { formatCount, plural } from "../../model/quantities";
import { PageHead } from "../../shell/Page";
import styles from "./Decisions.module.css";
import { Policies } from "./Policies";

type Decision = Schemas["DecisionView"];

export function Decisions() {
  const decisions = useQuery(decisionsQuery);
  const [chosen, setChosen] = useState<string | null>(null);
  const items = decisions.data?.items ?? [];
  const decision = items.find((item) => item.id === chosen) ?? items[0];
  return (
    <>
      <PageHead title="Decisions" />
      <div className={styles.page}>
        <Policies />
        <Panel
          title="Flight recorder: decisions, newest first"
          isFlush
          actions={<Command text="shunter replay --policy spread" />}
        >
          {decisions.isError ? (
            <Failure error={decisions.error} retry={() => void decisions.refetch()} />
          ) : !decisions.data ? (
            <Loading />
          ) : items.length === 0 ? (
            <Empty title="No decisions yet" command="shunter cluster set --flight on">
              The recorder writes down every decision that places, preempts or leaves tasks.
            </Empty>
          ) : (
            <div className={styles.sides}>
              <DecisionList items={items} current={decision?.id} onChoose={setChosen} />
              {decision && <DecisionDetails decision={decision} />}
            </div>
          )}
          {decisions.data && items.length < decisions.data.total && (
            <p className={styles.more}>
              the newest {formatCount(items.length)} of {formatCount(decisions.data.total)} are shown
            </p>
          )}
        </Panel>
      </div>
    </>
  );
}

interface DecisionListProps {
  items: Decision[];
  current: string | undefined;
  onChoose: (id: string) => void;
}

function DecisionList({ items, current, onChoose }: DecisionListProps) {
  return (
    <ul className={styles.list} aria-label="Decisions">
      {items.map((item) => (
        <li key={item.id}>
          <button type="button" data-kind="plain" aria-pressed={item.id === current} onClick={() => onChoose(item.id)}>
            <Time at={item.at} />
            <span>
              {formatCount(item.placed)} placed, {formatCount(item.left)} left
              {item.preempted > 0 && `, ${formatCount(item.preempted)} preempted`}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function DecisionDetails({ decision }: { decision: Decision }) {
  return (
    <div className={styles.details} aria-live="polite">
      <p>
        <strong>{decision.policy}</strong> decided in {decision.source} on state {formatCount(decision.version)}:{" "}
        {plural(decision.placed, "task")} placed, {plural(decision.left, "task")} left queued.
      </p>
      {decision.error && (
        <p>
          <Glyph look="failed" /> {decision.error}
        </p>
      )}
      {(decision.reasons ?? []).map((reason) => (
        <p key={reason}>
          <Glyph look="waiting" /> {reason}
        </p>
      ))}
      <ul>
        {(decision.items ?? []).map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a decision never changes
          <li key={index}>
            {item.preempted ? "preempted " : ""}
            {plural(item.count, "task")} {item.preempted ? "on" : "to"}{" "}
            <Link to="/nodes/$name/$tab" params={{ name: item.node, tab: "tasks" }}>
              {item.node}
            </Link>{" "}
            <span className="muted">{item.who}</span>
          </li>
        ))}
      </ul>
      {decision.truncated && <p className="muted">This decision has more placements than are shown.</p>}
    </div>
  );
}
