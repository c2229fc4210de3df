/** The audit log, the newest first. Its filters are the manager's, so that old records are found, too. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../../api/client";
import { auditQuery } from "../../api/queries";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import type { Column } from "../../components/DataTable";
import { Empty } from "../../components/Notice";
import { StateMark } from "../../components/StateMark";
import { formatCount } from "../../model/quantities";
import styles from "./Access.module.css";
import { PagedTable } from "./PagedTable";

type Entry = Schemas["AuditRecordView"];

const COLUMNS: Column<Entry>[] = [
  { title: "Number", cell: (entry) => formatCount(entry.number), isNumber: true },
  { title: "At", cell: (entry) => <Time at={entry.at} /> },
  {
    title: "User",
    cell: (entry) => [entry.user, entry.tenant && `of ${entry.tenant}`].filter(Boolean).join(" ") || "–",
  },
  { title: "Operation", cell: (entry) => <code>{entry.operation}</code> },
  { title: "On", cell: (entry) => <Names entry={entry} /> },
  { title: "Result", cell: resultOf },
  { title: "From", cell: (entry) => [entry.source, entry.transport].filter(Boolean).join(" by ") || "–" },
];

export function Audit() {
  const { user, operation } = useSearch({ from: "/access/$tab" });
  const navigate = useNavigate({ from: "/access/$tab" });
  const log = useInfiniteQuery(auditQuery({ user, operation }));
  const search = (next: { user?: string | undefined; operation?: string | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true });
  return (
    <>
      <div className={styles.filters}>
        <input
          type="search"
          aria-label="Only this user"
          placeholder="user"
          value={user ?? ""}
          onChange={(event) => search({ user: event.target.value || undefined })}
        />
        <input
          type="search"
          aria-label="Only this operation"
          placeholder="operation, such as submitJob"
          value={operation ?? ""}
          onChange={(event) => search({ operation: event.target.value || undefined })}
        />
      </div>
      <PagedTable
        title="Audit log"
        list={log}
        columns={COLUMNS}
        keyOf={(entry) => String(entry.number)}
        actions={<Command text="shunter audit verify" />}
        empty={<Empty title="No record matches">A record has the exact name of its user and its operation.</Empty>}
      />
    </>
  );
}

function Names({ entry }: { entry: Entry }) {
  const names = [...(entry.names ?? []), ...(entry.refused ?? []).map(describeRefused)].join(", ");
  return (
    <span className={styles.names} title={names}>
      {names || "–"}
    </span>
  );
}

function describeRefused({ operation, user, source, status }: NonNullable<Entry["refused"]>[number]): string {
  const who = [user, source && `from ${source}`].filter(Boolean).join(" ");
  return [operation || "a request", who && `of ${who}`, status && `(${status})`].filter(Boolean).join(" ");
}

function resultOf(entry: Entry) {
  const refused = (entry.refused ?? []).reduce((sum, each) => sum + each.count, 0);
  if (refused > 0) return <StateMark state="failed" word={`${formatCount(refused)} refused`} />;
  return entry.result === "ok" || !entry.result ? (
    <StateMark state="succeeded" word="ok" />
  ) : (
    <StateMark state="failed" word={entry.result} />
  );
}
