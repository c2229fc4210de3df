/** The overview of a caller that sees a part of the cluster: its jobs, and the quotas of its tenant. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobCountsQuery, tenantQuery } from "../../api/queries";
import { Panel } from "../../components/Panel";
import { Glyph } from "../../components/StateMark";
import { formatCount } from "../../model/quantities";
import type { Me } from "../../model/rights";
import { lookOf } from "../../model/states";
import { PageHead } from "../../shell/Page";
import { Quotas } from "../access/Tenants";
import { Attention } from "./Attention";
import styles from "./Overview.module.css";
import { RecentEvents } from "./RecentEvents";

const SHOWN = ["running", "pending", "failed", "succeeded"];
const NO_NODES = [] as const;

export default function PartOverview({ me }: { me: Me }) {
  const counts = useQuery(jobCountsQuery).data?.items ?? [];
  const countOf = (state: string) => counts.find((each) => each.key === state)?.jobs ?? 0;
  return (
    <>
      <PageHead
        title="Overview"
        mark={<span className="muted">{me.tenant ? `of tenant ${me.tenant}` : "of what your key sees"}</span>}
      />
      <div className={styles.page}>
        <div className={styles.counts}>
          {SHOWN.map((state) => (
            <Link key={state} to="/jobs" search={{ filter: `state:${state}` }} className={styles.count}>
              <strong>{formatCount(countOf(state))}</strong>
              <span>
                <Glyph look={lookOf(state)} /> jobs {state}
              </span>
            </Link>
          ))}
        </div>
        {me.tenant && <OwnQuotas name={me.tenant} />}
        <Attention nodes={NO_NODES} />
        <RecentEvents />
      </div>
    </>
  );
}

function OwnQuotas({ name }: { name: string }) {
  const tenant = useQuery(tenantQuery(name)).data;
  return <Panel title="Quotas">{tenant && <Quotas tenant={tenant} />}</Panel>;
}
