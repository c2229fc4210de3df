/** What starts jobs, and what holds them back: queues with their limits, schedules, and tasks that failed for good. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { pauseQueue, pauseTemplate } from "../../api/actions";
import type { Schemas } from "../../api/client";
import { deadQuery, queuesQuery, templatesQuery } from "../../api/queries";
import { ActionButton } from "../../components/ActionButton";
import { Time } from "../../components/Clock";
import { Command } from "../../components/Command";
import { type Column, DataTable } from "../../components/DataTable";
import { Empty, Failure, Loading } from "../../components/Notice";
import { Panel } from "../../components/Panel";
import { StateMark } from "../../components/StateMark";
import { say, sayError } from "../../components/Toasts";
import { formatCount } from "../../model/quantities";
import { PageHead } from "../../shell/Page";
import styles from "./Queues.module.css";

type Queue = Schemas["QueueView"];
type Template = Schemas["TemplateView"];
type Dead = Schemas["DeadView"];

export function Queues() {
  return (
    <>
      <PageHead title="Queues and schedules" />
      <div className={styles.stack}>
        <QueuesPanel />
        <SchedulesPanel />
        <DeadPanel />
      </div>
    </>
  );
}

/** Runs a change, says what it did, and reads the list again. */
function useChange(subject: string) {
  const queries = useQueryClient();
  return async (done: string, change: () => Promise<unknown>) => {
    try {
      await change();
      say(done);
      await queries.invalidateQueries({ queryKey: [subject] });
    } catch (error) {
      sayError(error);
    }
  };
}

function QueuesPanel() {
  const queues = useQuery({ ...queuesQuery, refetchInterval: 5000 });
  const change = useChange("queues");
  const columns: Column<Queue>[] = [
    {
      title: "Queue",
      cell: ({ name }) => (
        <Link to="/jobs" search={{ filter: `queue:${name}` }}>
          {name}
        </Link>
      ),
    },
    {
      title: "State",
      cell: ({ paused }) => <StateMark state={paused ? "held" : "running"} word={paused ? "paused" : "open"} />,
    },
    { title: "Tasks queued", cell: ({ queued }) => formatCount(queued), isNumber: true },
    { title: "at most", cell: ({ queued_max }) => limit(queued_max), isNumber: true },
    { title: "Tasks running", cell: ({ running }) => formatCount(running), isNumber: true },
    { title: "at most ", cell: ({ running_max }) => limit(running_max), isNumber: true },
    { title: "Order", cell: ({ strict }) => (strict ? "strict" : "may backfill") },
    {
      title: "Actions",
      cell: ({ name, paused }) => (
        <ActionButton
          right="operate"
          aria-label={`${paused ? "Resume" : "Pause"} ${name}`}
          onClick={() =>
            void change(paused ? `Resumed ${name}.` : `Paused ${name}: nothing of it starts.`, () =>
              pauseQueue(name, !paused),
            )
          }
        >
          {paused ? "Resume" : "Pause"}
        </ActionButton>
      ),
    },
  ];
  if (queues.isError && !queues.data) return <Failure error={queues.error} retry={() => void queues.refetch()} />;
  if (!queues.data) return <Loading />;
  return (
    <Panel title="Queues" isFlush actions={<Command text="shunter queue set night --running-max 10" />}>
      <DataTable label="Queues" columns={columns} rows={queues.data.items} keyOf={({ name }) => name} />
    </Panel>
  );
}

function limit(count: number | null | undefined): string {
  return count === null || count === undefined ? "no limit" : formatCount(count);
}

function SchedulesPanel() {
  const templates = useQuery({ ...templatesQuery, refetchInterval: 10_000 });
  const change = useChange("templates");
  const columns: Column<Template>[] = [
    {
      title: "Name",
      cell: ({ name, namespace }) => (
        <Link to="/jobs" search={{ filter: `namespace:${namespace} ${name}` }}>
          {name}
        </Link>
      ),
    },
    { title: "Namespace", cell: ({ namespace }) => namespace },
    {
      title: "State",
      cell: ({ state }) => <StateMark state={state === "paused" ? "held" : "running"} word={state} />,
    },
    { title: "Starts", cell: whenOf },
    { title: "Next", cell: ({ next_at }) => <Time at={next_at} /> },
    { title: "Last run", cell: (template) => <LastRun template={template} /> },
    {
      title: "Skipped",
      cell: ({ skipped_at, skipped_because }) => (
        <span title={skipped_because ?? undefined}>{skipped_at ? <Time at={skipped_at} /> : "–"}</span>
      ),
    },
    {
      title: "Actions",
      cell: ({ name, namespace, state, cron }) =>
        cron && (
          <ActionButton
            right="submit"
            aria-label={`${state === "paused" ? "Resume" : "Pause"} ${name}`}
            onClick={() =>
              void change(state === "paused" ? `Resumed ${name}.` : `Paused ${name}.`, () =>
                pauseTemplate({ namespace, name }, state !== "paused"),
              )
            }
          >
            {state === "paused" ? "Resume" : "Pause"}
          </ActionButton>
        ),
    },
  ];
  if (templates.isError && !templates.data) return <Failure error={templates.error} />;
  if (!templates.data) return <Loading />;
  const { items, total } = templates.data;
  return (
    <Panel
      title="Schedules and templates"
      isFlush
      actions={items.length < total && <span>{`the first ${formatCount(items.length)} of ${formatCount(total)}`}</span>}
    >
      {items.length === 0 ? (
        <Empty title="No schedules yet" command="shunter submit -f examples/long-running/cron.yaml">
          A job with a schedule starts runs by itself; one with parameters starts them by <code>shunter dispatch</code>:
        </Empty>
      ) : (
        <DataTable label="Schedules" columns={columns} rows={items} keyOf={({ id }) => String(id)} />
      )}
    </Panel>
  );
}

function whenOf({ cron, timezone, required }: Template) {
  if (cron) {
    return (
      <>
        <code>{cron}</code> <span className="muted">{timezone}</span>
      </>
    );
  }
  return `by dispatch${(required ?? []).length > 0 ? ` with ${(required ?? []).join(", ")}` : ""}`;
}

function LastRun({ template: { name, namespace, last_run, last_state } }: { template: Template }) {
  if (!last_run) return <span className="muted">none yet</span>;
  const job = `${name}@${last_run}`;
  return (
    <span className={styles.last}>
      <Link to="/jobs/$namespace/$job/$tab" params={{ namespace, job, tab: "tasks" }}>
        {job}
      </Link>
      {last_state && <StateMark state={last_state} />}
    </span>
  );
}

const DEAD_COLUMNS: Column<Dead>[] = [
  {
    title: "Task",
    cell: ({ namespace, job, run, group, index, name }) => (
      <Link
        to="/jobs/$namespace/$job/$tab"
        params={{ namespace, job: `${job}@${run}`, tab: "tasks" }}
        search={{ task: `${group}/${index}` }}
      >
        {name}
      </Link>
    ),
  },
  { title: "Namespace", cell: ({ namespace }) => namespace },
  { title: "Failed at", cell: ({ at }) => <Time at={at} /> },
  { title: "Exit", cell: ({ exit_code }) => exit_code ?? "–", isNumber: true },
  { title: "Reason", cell: ({ reason }) => reason },
];

function DeadPanel() {
  const dead = useQuery(deadQuery);
  if (dead.isError && !dead.data) return <Failure error={dead.error} />;
  if (!dead.data) return <Loading />;
  const { items, total } = dead.data;
  return (
    <Panel
      title="Dead letters"
      isFlush
      actions={
        items.length < total ? (
          <span>{`the first ${formatCount(items.length)} of ${formatCount(total)}`}</span>
        ) : (
          items.length > 0 && <Command text="shunter dead replay --help" />
        )
      }
    >
      {items.length === 0 ? (
        <p className={styles.calm}>No task has used up its restarts.</p>
      ) : (
        <DataTable label="Dead letters" columns={DEAD_COLUMNS} rows={items} keyOf={({ number }) => String(number)} />
      )}
    </Panel>
  );
}
