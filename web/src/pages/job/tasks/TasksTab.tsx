/** The tasks of a job: all of them as a heat map, and those of one state as a table. The open task is in the address. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { JobView, TaskView } from "../../../api/client";
import { type JobKey, TASKS_PAGE, tasksQuery } from "../../../api/queries";
import { Empty, Failure, Loading } from "../../../components/Notice";
import { Panel } from "../../../components/Panel";
import { Glyph } from "../../../components/StateMark";
import { formatCount } from "../../../model/quantities";
import { lookOf, TASK_STATES } from "../../../model/states";
import { AllTasks } from "./AllTasks";
import { TaskPanel } from "./TaskPanel";
import styles from "./Tasks.module.css";
import { TasksTable } from "./TasksTable";

const MAP_FROM = 2;

export function TasksTab({ jobKey, view }: { jobKey: JobKey; view: JobView }) {
  const { task, state } = useSearch({ from: "/jobs/$namespace/$job/$tab" });
  const navigate = useNavigate({ from: "/jobs/$namespace/$job/$tab" });
  const states = useMemo(() => (state ? [state] : []), [state]);
  const tasks = useInfiniteQuery(tasksQuery(jobKey, states, TASKS_PAGE));
  const rows = useMemo(() => tasks.data?.pages.flatMap((page) => page.items) ?? [], [tasks.data]);
  const total = tasks.data?.pages[0]?.total ?? 0;
  const open = (path: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, task: path }), replace: true });
  const choose = (next: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, state: next }), replace: true });

  if (tasks.isError && !tasks.data) return <Failure error={tasks.error} retry={() => void tasks.refetch()} />;
  return (
    <div className={styles.page}>
      {view.count >= MAP_FROM && <AllTasks jobKey={jobKey} onOpen={open} />}
      {task && <TaskPanel key={task} jobKey={jobKey} path={task} onClose={() => open(undefined)} />}
      <Panel title="Tasks" isFlush actions={<StateFilter counts={view.counts} chosen={state} onChoose={choose} />}>
        {!tasks.data ? (
          <Loading />
        ) : rows.length === 0 ? (
          <Empty title={state ? `No task is ${state}` : "No tasks yet"} />
        ) : (
          <TasksTable tasks={rows} openPath={task} pathOf={pathOf} onOpen={open} />
        )}
        {tasks.data && rows.length < total && (
          <p className={styles.more}>
            {formatCount(rows.length)} of {formatCount(total)} tasks
            <button type="button" disabled={tasks.isFetchingNextPage} onClick={() => void tasks.fetchNextPage()}>
              Show {formatCount(Math.min(TASKS_PAGE, total - rows.length))} more
            </button>
          </p>
        )}
      </Panel>
    </div>
  );
}

/** `main/3`: a task in an address. */
function pathOf(task: TaskView): string {
  return `${task.group ?? "main"}/${task.index}`;
}

interface StateFilterProps {
  counts: Record<string, number>;
  chosen: string | undefined;
  onChoose: (state: string | undefined) => void;
}

function StateFilter({ counts, chosen, onChoose }: StateFilterProps) {
  return (
    <span className={styles.states}>
      {TASK_STATES.filter((state) => (counts[state] ?? 0) > 0 || state === chosen).map((state) => (
        <button
          key={state}
          type="button"
          aria-pressed={state === chosen}
          onClick={() => onChoose(state === chosen ? undefined : state)}
        >
          <Glyph look={lookOf(state)} />
          {formatCount(counts[state] ?? 0)} {state}
        </button>
      ))}
    </span>
  );
}
