/** The rows of tasks. Only those on the screen exist as elements. */
import type { TaskView } from "../../../api/client";
import { Elapsed, Time } from "../../../components/Clock";
import { StateMark } from "../../../components/StateMark";
import { VirtualRows } from "../../../components/VirtualRows";
import styles from "./Tasks.module.css";

interface TasksTableProps {
  tasks: TaskView[];
  openPath: string | undefined;
  pathOf: (task: TaskView) => string;
  onOpen: (path: string | undefined) => void;
}

const HEAD = ["Task", "State", "Node", "Started", "Took", "Exit", "Reason"];

export function TasksTable({ tasks, openPath, pathOf, onOpen }: TasksTableProps) {
  return (
    <div role="table" aria-label="Tasks" aria-rowcount={tasks.length + 1}>
      <div role="row" className={styles.headRow}>
        {HEAD.map((title) => (
          <span role="columnheader" key={title}>
            {title}
          </span>
        ))}
      </div>
      <VirtualRows count={tasks.length}>
        {(index) => {
          const task = tasks[index];
          if (!task) return null;
          const path = pathOf(task);
          return (
            <TaskRow
              task={task}
              isOpen={path === openPath}
              onOpen={() => onOpen(path === openPath ? undefined : path)}
            />
          );
        }}
      </VirtualRows>
    </div>
  );
}

function TaskRow({ task, isOpen, onOpen }: { task: TaskView; isOpen: boolean; onOpen: () => void }) {
  return (
    <div role="row" className={styles.row} data-open={isOpen || undefined}>
      <span role="cell">
        <button type="button" data-kind="plain" className={styles.name} aria-expanded={isOpen} onClick={onOpen}>
          {task.name.split("/").slice(1).join("/")}
        </button>
      </span>
      <span role="cell">
        <StateMark state={task.state} />
      </span>
      <span role="cell">{task.node ?? "–"}</span>
      <span role="cell">
        <Time at={task.started_at} />
      </span>
      <span role="cell">
        <Elapsed start={task.started_at} stop={task.ended_at ?? null} />
      </span>
      <span role="cell">{task.exit_code ?? "–"}</span>
      <span role="cell" className="muted" title={task.reason ?? undefined}>
        {task.reason}
        {task.restarts ? ` (restart ${task.restarts})` : ""}
      </span>
    </div>
  );
}
