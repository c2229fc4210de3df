/** The list of jobs: filter and page are in the address, rows stay where they are, keys and bulk actions work. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { JobView } from "../../api/client";
import { JOBS_PAGE, jobsQuery } from "../../api/queries";
import { Empty, Failure, Loading } from "../../components/Notice";
import { useStableRows } from "../../components/useStableRows";
import { formatCount, plural } from "../../model/quantities";
import { useKeys } from "../../shell/keyboard";
import { PageHead } from "../../shell/Page";
import { BulkActions } from "./BulkActions";
import { FilterBar } from "./FilterBar";
import styles from "./Jobs.module.css";
import { JobsTable } from "./JobsTable";

export function Jobs() {
  const { filter = "", after } = useSearch({ from: "/jobs" });
  const navigate = useNavigate({ from: "/jobs" });
  const jobs = useQuery(jobsQuery(filter, after));
  const [isHovered, setHovered] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [current, setCurrent] = useState(-1);
  const latest = useMemo(() => jobs.data?.items ?? [], [jobs.data]);
  const isHeld = isHovered || selected.size > 0;
  const { rows, added, release } = useStableRows(latest, keyOf, isHeld, `${filter}\n${after}`);

  const toggle = (id: number) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const open = (job: JobView) => {
    const params = { namespace: job.namespace, job: `${job.name}@${job.run}`, tab: "tasks" };
    void navigate({ to: "/jobs/$namespace/$job/$tab", params });
  };
  const at = rows[current];
  useKeys({
    j: () => setCurrent(Math.min(rows.length - 1, current + 1)),
    k: () => setCurrent(Math.max(0, current - 1)),
    x: () => at && toggle(at.id),
    Enter: () => at && open(at),
  });

  if (jobs.isError && !jobs.data) return <Failure error={jobs.error} retry={() => void jobs.refetch()} />;
  const total = jobs.data?.total ?? 0;
  return (
    <div className={styles.page}>
      <PageHead title="Jobs" mark={jobs.data && <span className="muted">{formatCount(total)}</span>}>
        <Link to="/create">Create a job</Link>
      </PageHead>
      <FilterBar filter={filter} onChange={(next) => void navigate({ search: { filter: next || undefined } })} />
      <BulkActions
        jobs={rows.filter((job) => selected.has(job.id))}
        onDone={() => setSelected(new Set())}
        onSelectAll={() => setSelected(new Set(rows.map((job) => job.id)))}
      />
      {added > 0 && (
        <button type="button" className={styles.newer} onClick={() => release()} aria-live="polite">
          {plural(added, "newer job")}: show
        </button>
      )}
      {!jobs.data ? (
        <Loading />
      ) : rows.length === 0 ? (
        <NoJobs isFiltered={filter !== ""} />
      ) : (
        <JobsTable
          jobs={rows}
          current={current}
          selected={selected}
          onSelect={toggle}
          onHover={setHovered}
          onCurrent={setCurrent}
        />
      )}
      <Paging shown={rows.length} total={total} next={jobs.data?.next ?? null} after={after} filter={filter} />
    </div>
  );
}

function keyOf(job: JobView): string {
  return String(job.id);
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No job matches the filter">
        <Link to="/jobs">Show all jobs</Link>
      </Empty>
    );
  }
  return (
    <Empty title="No jobs yet" command="shunter run --name hello -- echo hello">
      <Link to="/create">Create one here</Link>, or run one from a terminal:
    </Empty>
  );
}

interface PagingProps {
  shown: number;
  total: number;
  next: string | null;
  after: string | undefined;
  filter: string;
}

function Paging({ shown, total, next, after, filter }: PagingProps) {
  if (!after && !next) return null;
  const search = { filter: filter || undefined };
  return (
    <div className={styles.paging}>
      <span className="muted">
        {formatCount(shown)} of {formatCount(total)} shown, newest first, {JOBS_PAGE} on a page
      </span>
      {after && (
        <Link to="/jobs" search={search}>
          Newest
        </Link>
      )}
      {next && (
        <Link to="/jobs" search={{ ...search, after: next }}>
          Older
        </Link>
      )}
    </div>
  );
}
