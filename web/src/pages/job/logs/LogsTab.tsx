/** The output of all tasks of a job. */
import type { JobView } from "../../../api/client";
import type { JobKey } from "../../../api/queries";
import { Command } from "../../../components/Command";
import { Panel } from "../../../components/Panel";
import { LogView } from "./LogView";

const TAIL = 1000;

export function LogsTab({ jobKey, view }: { jobKey: JobKey; view: JobView }) {
  return (
    <Panel title="Output of all tasks" actions={<Command text={`shunter logs ${jobKey.job} --follow`} />}>
      <LogView jobKey={jobKey} query={{ tail: TAIL }} isTaskHidden={view.count === 1} />
    </Panel>
  );
}
