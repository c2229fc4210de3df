/** Where the tile of each node is on the map: groups in columns, tiles in rows. Pure. */

export interface TileGroup {
  name: string;
  /** Indexes into the list of nodes. */
  members: number[];
}

export interface Layout {
  size: number;
  height: number;
  groups: { name: string; top: number; columns: number; members: number[] }[];
}

export const TITLE_HEIGHT = 18;
const GAP = 10;
const SIZE_MIN = 4;
const SIZE_MAX = 26;

export function groupNodes<T>(nodes: readonly T[], groupOf: (node: T) => string): TileGroup[] {
  const groups = new Map<string, number[]>();
  nodes.forEach((node, index) => {
    const name = groupOf(node);
    const members = groups.get(name);
    if (members) members.push(index);
    else groups.set(name, [index]);
  });
  return [...groups].map(([name, members]) => ({ name, members })).sort((a, b) => a.name.localeCompare(b.name));
}

/** The largest tiles with which all groups fit into the height, each group below the other. */
export function layOut(groups: TileGroup[], width: number, heightMax: number): Layout {
  for (let size = SIZE_MAX; size > SIZE_MIN; size--) {
    const layout = layoutOfSize(groups, width, size);
    if (layout.height <= heightMax) return layout;
  }
  return layoutOfSize(groups, width, SIZE_MIN);
}

function layoutOfSize(groups: TileGroup[], width: number, size: number): Layout {
  const columns = Math.max(1, Math.floor(width / size));
  let top = 0;
  const placed = groups.map(({ name, members }) => {
    const group = { name, top, columns, members };
    top += TITLE_HEIGHT + Math.ceil(members.length / columns) * size + GAP;
    return group;
  });
  return { size, height: Math.max(0, top - GAP), groups: placed };
}

/** The index of the node at a point, or -1. */
export function nodeAt(layout: Layout, x: number, y: number): number {
  for (const group of layout.groups) {
    const row = Math.floor((y - group.top - TITLE_HEIGHT) / layout.size);
    const column = Math.floor(x / layout.size);
    if (row < 0 || column < 0 || column >= group.columns) continue;
    const member = group.members[row * group.columns + column];
    if (member !== undefined && row < Math.ceil(group.members.length / group.columns)) return member;
  }
  return -1;
}

/** The left upper corner of each tile of a group. */
export function* tilesOf(layout: Layout): Generator<{ node: number; x: number; y: number }> {
  for (const group of layout.groups) {
    for (let position = 0; position < group.members.length; position++) {
      yield {
        node: group.members[position] as number,
        x: (position % group.columns) * layout.size,
        y: group.top + TITLE_HEIGHT + Math.floor(position / group.columns) * layout.size,
      };
    }
  }
}
