"""Layout of a graph: layers from top to bottom, so that every edge points down, with few crossings and straight lines.

Pure; called by `cli.render.graph_drawing`. The algorithm is Sugiyama's: layers by the longest path, placeholders where
an edge passes a layer, and order by the mean position of the neighbours. Columns minimize the squared distance to the
neighbours and keep the order (pool adjacent violators). The number of crossings is small, but not minimal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 8  # over all layers, down and up by turns
GAP = 3  # columns between neighbours
PORT_GAP = 2  # columns between the lines that enter a box

Edge = tuple[str, str]  # from, to


@dataclass(slots=True)
class Cell:
    """A box, or a placeholder for an edge that passes this layer (`key` is empty)."""

    key: str
    width: int
    above: list[Cell] = field(default_factory=list)
    below: list[Cell] = field(default_factory=list)
    centre: int = 0

    @property
    def left(self) -> int:
        return self.centre - self.width // 2

    @property
    def entries(self) -> list[list[Cell]]:
        """Cells above, grouped by their targets: cells with the same targets share a line."""
        shared: dict[frozenset[int], list[Cell]] = {}
        for cell in self.above:
            shared.setdefault(frozenset(map(id, cell.below)), []).append(cell)
        return list(shared.values())


def layout_layers(widths: Mapping[str, int], edges: Sequence[Edge]) -> list[list[Cell]]:
    """Layers of cells with their columns, the leftmost at 0. There must be no cycle."""
    depths = _depths(list(widths), edges)
    layers = _cells(widths, edges, depths)
    for layer in layers:
        for cell in layer:
            cell.width = max(cell.width, PORT_GAP * len(cell.entries) + 1 if cell.key else 1)
    _order(layers)
    _assign_columns(layers)
    return layers


def components(keys: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    """Connected components, in the given order."""
    parent = {key: key for key in keys}

    def find_root(key: str) -> str:
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    for upper, lower in edges:
        parent[find_root(lower)] = find_root(upper)
    found: dict[str, list[str]] = {}
    for key in keys:
        found.setdefault(find_root(key), []).append(key)
    return list(found.values())


def topological(keys: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """Keys in topological order; otherwise in the given order."""
    waiting = dict.fromkeys(keys, 0)
    below: dict[str, list[str]] = {key: [] for key in keys}
    for upper, lower in edges:
        waiting[lower] += 1
        below[upper].append(lower)
    ready = [key for key in keys if not waiting[key]]
    for key in ready:  # grows while it is walked
        for lower in below[key]:
            waiting[lower] -= 1
            if not waiting[lower]:
                ready.append(lower)
    assert len(ready) == len(keys), "a cycle"
    return ready


def _depths(keys: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The longest path to each key; a key without predecessors moves down to right above its first successor."""
    depths = dict.fromkeys(keys, 0)
    below: dict[str, list[str]] = {key: [] for key in keys}
    for upper, lower in edges:
        below[upper].append(lower)
    for key in topological(keys, edges):
        for lower in below[key]:
            depths[lower] = max(depths[lower], depths[key] + 1)
    entered = {lower for _, lower in edges}
    for key in keys:
        if key not in entered and below[key]:
            depths[key] = min(depths[lower] for lower in below[key]) - 1
    return depths


def _cells(widths: Mapping[str, int], edges: Sequence[Edge], depths: Mapping[str, int]) -> list[list[Cell]]:
    layers: list[list[Cell]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    boxes = {key: Cell(key, width) for key, width in widths.items()}
    for key, box in boxes.items():
        layers[depths[key]].append(box)
    passing: dict[tuple[str, int], Cell] = {}  # edges of one box share their stand-ins
    for upper, lower in edges:
        last = boxes[upper]
        for depth in range(depths[upper] + 1, depths[lower]):
            cell = passing.get((upper, depth))
            if cell is None:
                cell = passing[upper, depth] = Cell("", 1)
                layers[depth].append(cell)
                _join(last, cell)
            last = cell
        _join(last, boxes[lower])
    return layers


def _join(upper: Cell, lower: Cell) -> None:
    if lower not in upper.below:
        upper.below.append(lower)
        lower.above.append(upper)


def _order(layers: list[list[Cell]]) -> None:
    """Sort by the mean position of the neighbours, alternating down and up; keep the best sweep."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        for layer, before in _walk(layers, downwards):
            positions = {id(cell): position for position, cell in enumerate(before)}
            means = {}
            for position, cell in enumerate(layer):
                seen = [positions[id(other)] for other in (cell.above if downwards else cell.below)]
                means[id(cell)] = sum(seen) / len(seen) if seen else float(position)
            layer.sort(key=lambda cell: means[id(cell)])
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    for layer, ordered in zip(layers, best, strict=True):
        layer[:] = ordered


def _walk(layers: list[list[Cell]], downwards: bool) -> Iterable[tuple[list[Cell], list[Cell]]]:
    """Every layer except the first in this direction, with its predecessor."""
    ordered_layers = layers if downwards else layers[::-1]
    return zip(ordered_layers[1:], ordered_layers, strict=False)


def _crossings(layers: list[list[Cell]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        positions = {id(cell): position for position, cell in enumerate(lower)}
        ends = [position for cell in upper for position in sorted(positions[id(other)] for other in cell.below)]
        total += sum(one > other for number, one in enumerate(ends) for other in ends[number + 1 :])
    return total


def _assign_columns(layers: list[list[Cell]]) -> None:
    for layer in layers:
        _fit_centres(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS + 1):  # the last one goes down: what follows one box stands below it
        downwards = sweep % 2 == 0
        for layer, _ in _walk(layers, downwards):
            wanted = []
            for cell in layer:
                seen = [other.centre for other in (cell.above if downwards else cell.below)]
                wanted.append(sum(seen) / len(seen) if seen else float(cell.centre))
            _fit_centres(layer, wanted)
    leftmost = min(cell.left for layer in layers for cell in layer)
    for layer in layers:
        for cell in layer:
            cell.centre -= leftmost


def _fit_centres(layer: list[Cell], wanted: list[float]) -> None:
    """Centres as close to the wanted ones as the order and the gaps allow."""
    offsets, at = [], 0
    for number, cell in enumerate(layer):
        if number:
            before = layer[number - 1]
            at += before.width - before.width // 2 + GAP + cell.width // 2
        offsets.append(at)
    for cell, centre in zip(layer, fit_positions(wanted, offsets), strict=True):
        cell.centre = centre


def fit_positions(wanted: Sequence[float], offsets: Sequence[int]) -> list[int]:
    """Integers closest to the wanted ones (least squares) whose distances are at least those of the offsets."""
    pools: list[tuple[float, int]] = []  # mean, size
    for want, offset in zip(wanted, offsets, strict=True):
        mean, size = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, size = (mean * size + other * others) / (size + others), size + others
        pools.append((mean, size))
    bases = [round(mean) for mean, size in pools for _ in range(size)]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]
