/** Tenants: what they own, their quotas, and what they use of them. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { tenantQuery, tenantsQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { type Column, DataTable } from "../../components/DataTable";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { ShareBar } from "../../components/ShareBar";
import { formatResource, parseAmount } from "../../model/quantities";
import styles from "./Access.module.css";
import { PagedTable } from "./PagedTable";

type Tenant = Schemas["TenantView"];

const COLUMNS: Column<Tenant>[] = [
  { title: "Tenant", cell: (tenant) => tenant.name },
  { title: "Namespaces", cell: (tenant) => tenant.namespaces.join(", ") },
  { title: "Queues", cell: (tenant) => tenant.queues.join(", ") },
  { title: "Quotas", cell: (tenant) => <Quotas tenant={tenant} /> },
  { title: "Created", cell: (tenant) => <Time at={tenant.created_at} /> },
];

export function Tenants() {
  const tenants = useInfiniteQuery(tenantsQuery);
  return (
    <PagedTable
      title="Tenants"
      list={tenants}
      columns={COLUMNS}
      keyOf={(tenant) => tenant.name}
      actions={<Command text="shunter tenant create NAME --quota cpu=16" />}
      empty={
        <Empty title="No tenants yet" command="shunter tenant create red --quota queued=1000">
          A tenant owns namespaces and queues, and its keys see only what is in them:
        </Empty>
      }
    />
  );
}

export function OwnTenant({ name }: { name: string }) {
  const tenant = useQuery(tenantQuery(name));
  if (tenant.isError && !tenant.data) return <Failure error={tenant.error} retry={() => void tenant.refetch()} />;
  if (!tenant.data) return <Loading />;
  return (
    <Panel title={`Tenant ${name}`} isFlush actions={<Command text={`shunter tenant show ${name}`} />}>
      <DataTable label={`Tenant ${name}`} columns={COLUMNS.slice(1)} rows={[tenant.data]} keyOf={(each) => each.name} />
    </Panel>
  );
}

/** Without a quota, a use has no bound that a bar could show. */
export function Quotas({ tenant }: { tenant: Tenant }) {
  const quotas = Object.entries(tenant.quotas);
  if (quotas.length === 0) return <span className="muted">unlimited</span>;
  return (
    <>
      {quotas.map(([kind, limit]) => {
        const used = parseAmount(tenant.used[kind]);
        const whole = parseAmount(limit);
        const text = `${formatResource(kind, used)} of ${formatResource(kind, whole)}`;
        return (
          <span key={kind} className={styles.quota}>
            <span className="muted">{kind}</span>
            {tenant.used[kind] === undefined ? (
              <span>{limit}</span>
            ) : (
              <ShareBar part={used} whole={whole} text={text} />
            )}
          </span>
        );
      })}
    </>
  );
}
