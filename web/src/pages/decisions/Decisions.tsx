/** The flight recorder: pick a moment, see what the policy saw, decided and left, and let another policy decide. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { flightTimelineQuery } from "../../api/queries";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { PageHead } from "../../shell/Page";
import { DecisionDetails } from "./DecisionDetails";
import styles from "./Decisions.module.css";
import { FlightTimeline } from "./FlightTimeline";
import { Periods } from "./Periods";
import { Policies } from "./Policies";
import { Replay } from "./Replay";
import { Shadows } from "./Shadows";

export function Decisions() {
  const flight = useQuery(flightTimelineQuery);
  const { at } = useSearch({ from: "/decisions" });
  const navigate = useNavigate();
  const pick = (id: string) => {
    const isNewest = id === flight.data?.ids.at(-1);
    void navigate({ to: "/decisions", search: { at: isNewest ? undefined : id }, replace: true });
  };
  const current = at ?? flight.data?.ids.at(-1);
  return (
    <>
      <PageHead title="Decisions" />
      <div className={styles.page}>
        <Policies />
        {flight.isError && !flight.data ? (
          <Failure error={flight.error} retry={() => void flight.refetch()} />
        ) : !flight.data ? (
          <Loading />
        ) : (
          <>
            <Periods periods={flight.data.periods ?? []} />
            <Panel title="Flight recorder: decisions over time">
              {flight.data.ids.length === 0 ? (
                <Empty title="No decisions yet" command="shunter cluster set flight=on">
                  The recorder writes down every decision that places, preempts or refuses tasks. If it is off:
                </Empty>
              ) : (
                <FlightTimeline flight={flight.data} current={current} onPick={pick} />
              )}
            </Panel>
            {current && <DecisionDetails id={current} />}
            {current && <Replay key={current} id={current} onPick={pick} />}
            <Shadows shadows={flight.data.shadows ?? []} />
          </>
        )}
      </div>
    </>
  );
}
