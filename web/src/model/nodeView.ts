/** A node as the map shows it. Pure. */
import type { Schemas } from "../api/client";
import { nodeState } from "./states";

export interface NodeTile {
  name: string;
  group: string;
  state: string;
  /** 0 to 1. */
  load: number;
  /** Reserved shares, 0 to 1. */
  cpu: number;
  memory: number;
  tasks: number;
  reason: string;
}

const THOUSANDTHS = 1000;

/** The columns of the map of nodes, as tiles. */
export function readNodeMap(map: Schemas["NodeMap"]): NodeTile[] {
  return map.names.map((name, index) => {
    const reason = map.reasons?.[name] ?? "";
    const state = map.state_names[map.states[index] as number] ?? "suspect";
    const cpu = share(map.cpu[index]);
    const memory = share(map.memory[index]);
    return {
      name,
      group: map.group_names[map.groups[index] as number] ?? "",
      state: nodeState({ state, eligible: map.eligible[index] ?? true, reason }),
      reason,
      load: Math.max(cpu, memory),
      cpu,
      memory,
      tasks: map.tasks[index] ?? 0,
    };
  });
}

function share(thousandths: number | undefined): number {
  return Math.min(1, (thousandths ?? 0) / THOUSANDTHS);
}
