/** The heat map of one group of a job, with its failures by reason. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type JobKey, taskMapQuery } from "../../../api/queries";
import { HeatMap } from "../../../components/HeatMap";
import { Panel } from "../../../components/Panel";
import { Glyph } from "../../../components/StateMark";
import type { Window } from "../../../model/heatCells";
import { formatCount } from "../../../model/quantities";
import styles from "./Tasks.module.css";

const CELLS = 1000;

export function AllTasks({ jobKey, onOpen }: { jobKey: JobKey; onOpen: (path: string) => void }) {
  const [group, setGroup] = useState<string | undefined>();
  const [window, setWindow] = useState<Window | null>(null);
  const [room, setRoom] = useState(CELLS);
  const map = useQuery(taskMapQuery(jobKey, group, window, room)).data;
  if (!map) return null;
  const choose = (next: string) => {
    setGroup(next);
    setWindow(null);
  };
  return (
    <Panel
      title={`All ${formatCount(map.total)} tasks`}
      actions={
        map.groups.length > 1 && (
          <label>
            Group{" "}
            <select value={map.group} onChange={(event) => choose(event.target.value)}>
              {map.groups.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )
      }
    >
      <HeatMap
        map={map}
        window={window}
        onWindow={setWindow}
        onRoom={setRoom}
        onOpen={(task) => onOpen(`${map.group}/${task}`)}
      />
      {(map.failures ?? []).length > 0 && (
        <ul className={styles.failures} aria-label="Failures">
          {(map.failures ?? []).map((failure) => (
            <li key={`${failure.exit_code} ${failure.first}`}>
              <Glyph look="failed" /> {formatCount(failure.tasks)} ×{" "}
              {failure.reason ?? (failure.exit_code === null ? "never ran, or lost" : `exit code ${failure.exit_code}`)}
              , first{" "}
              <button type="button" data-kind="plain" onClick={() => onOpen(`${map.group}/${failure.first}`)}>
                task {formatCount(failure.first)}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
