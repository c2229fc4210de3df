/** The rows of the list. Only those on the screen exist as elements. */
import { Link } from "@tanstack/react-router";
import type { JobView } from "../../api/client";
import { Elapsed, Time } from "../../components/Clock";
import { StateMark } from "../../components/StateMark";
import { TaskBar } from "../../components/TaskBar";
import { VirtualRows } from "../../components/VirtualRows";
import { referenceOf } from "../../model/attention";
import { formatCount, percent } from "../../model/quantities";
import { progressOf } from "../../model/states";
import styles from "./Jobs.module.css";

interface JobsTableProps {
  jobs: JobView[];
  current: number;
  selected: ReadonlySet<number>;
  onSelect: (id: number) => void;
  onHover: (isHovered: boolean) => void;
  onCurrent: (index: number) => void;
}

const HEAD = ["Name and run", "State", "Tasks", "Submitted", "Took", "User", "Reason"];

export function JobsTable({ jobs, current, selected, onSelect, onHover, onCurrent }: JobsTableProps) {
  return (
    <div
      role="grid"
      aria-label="Jobs"
      aria-rowcount={jobs.length + 1}
      className={styles.table}
      onMouseEnter={() => onHover(true)}
      onMouseLeave={() => onHover(false)}
    >
      <div role="row" className={styles.headRow}>
        <span role="columnheader">
          <span className="visually-hidden">Selected</span>
        </span>
        {HEAD.map((title) => (
          <span role="columnheader" key={title}>
            {title}
          </span>
        ))}
      </div>
      <VirtualRows count={jobs.length} current={current}>
        {(index) => {
          const job = jobs[index];
          if (!job) return null;
          return (
            <JobRow
              job={job}
              isCurrent={index === current}
              isSelected={selected.has(job.id)}
              onSelect={() => onSelect(job.id)}
              onFocus={() => onCurrent(index)}
            />
          );
        }}
      </VirtualRows>
    </div>
  );
}

interface JobRowProps {
  job: JobView;
  isCurrent: boolean;
  isSelected: boolean;
  onSelect: () => void;
  onFocus: () => void;
}

function JobRow({ job, isCurrent, isSelected, onSelect, onFocus }: JobRowProps) {
  const params = { namespace: job.namespace, job: referenceOf(job), tab: "tasks" };
  const state = job.terms?.held && job.state === "pending" ? "held" : job.state;
  return (
    <div
      role="row"
      className={styles.row}
      data-current={isCurrent || undefined}
      aria-selected={isSelected}
      onFocus={onFocus}
    >
      <label role="gridcell" className={styles.pick}>
        <input type="checkbox" checked={isSelected} onChange={onSelect} aria-label={`Select ${params.job}`} />
      </label>
      <span role="gridcell">
        <Link to="/jobs/$namespace/$job/$tab" params={params}>
          {job.name}
          <span className="muted">@{job.run}</span>
        </Link>
        {job.namespace !== "default" && <span className="muted"> in {job.namespace}</span>}
      </span>
      <span role="gridcell">
        <StateMark state={state} />
      </span>
      <span role="gridcell" className={styles.tasks}>
        <TaskBar counts={job.counts} />
        <span>
          {percent(progressOf(job.counts, job.count), 1)} of {formatCount(job.count)}
        </span>
      </span>
      <span role="gridcell">
        <Time at={job.submitted_at} />
      </span>
      <span role="gridcell">
        <Elapsed start={job.started_at} stop={job.ended_at ?? null} />
      </span>
      <span role="gridcell">{job.user}</span>
      <span role="gridcell" className={styles.reason} title={job.reason ?? undefined}>
        {job.reason ?? (job.terms?.waits_for ?? []).join("; ")}
      </span>
    </div>
  );
}
