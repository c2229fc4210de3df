/** The filter of nodes as text: every word must be in the name, the state or the group. Pure. */
import type { NodeTile } from "./nodeView";

export function matchesNode(node: NodeTile, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const all = [node.name, node.state, node.group].join(" ").toLowerCase();
  return words.every((word) => all.includes(word));
}

/** The label that the filter asks for: `zone` of `zone=a`. The manager then groups the nodes by it. */
export function labelKeyOf(text: string): string | undefined {
  return /(?:^|\s)([^\s=]+)=/.exec(text)?.[1];
}
