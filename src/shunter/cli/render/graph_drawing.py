"""A graph as text: boxes in layers, joined by lines. Pure; called by `cli.commands.jobs.graph`.

Between two layers, edges to the same boxes share one line. Each line enters a box at its own position, and a line that
crosses another is drawn unbroken. So every junction is a real one, and a drawing is unambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from shunter.cli.render.graph_layout import GAP, PORT_GAP, Cell, Edge, components, fit_positions, layout_layers

NORTH, SOUTH, EAST, WEST = 1, 2, 4, 8
_LINES = {
    NORTH: "│", SOUTH: "│", NORTH | SOUTH: "│", EAST: "─", WEST: "─", EAST | WEST: "─",
    SOUTH | EAST: "┌", SOUTH | WEST: "┐", NORTH | EAST: "└", NORTH | WEST: "┘",
    NORTH | SOUTH | EAST: "├", NORTH | SOUTH | WEST: "┤", SOUTH | EAST | WEST: "┬", NORTH | EAST | WEST: "┴",
    NORTH | SOUTH | EAST | WEST: "┼",
}  # fmt: skip
ARROW = "▼"
_PLAIN = str.maketrans({"│": "|", "─": "-", ARROW: "v"} | dict.fromkeys("┌┐└┘├┤┬┴┼", "+"))

Paint = Callable[[str, str], str]  # (state, text) -> the text in the colour of the state


@dataclass(frozen=True, slots=True)
class Box:
    key: str
    lines: tuple[str, ...]
    state: str = ""  # the state whose colour the first line gets

    @property
    def width(self) -> int:
        return max(map(len, self.lines)) + 4


def draw(boxes: Sequence[Box], edges: Sequence[Edge], width_max: int | None = None) -> list[Canvas] | None:
    """Canvases to print one below the other, one per connected component; side by side if there is room. None if one is
    wider than `width_max`."""
    known = {box.key: box for box in boxes}
    drawn = []
    for keys in components(list(known), edges):
        members = set(keys)
        drawn.append(_draw_component([known[key] for key in keys], [edge for edge in edges if edge[0] in members]))
    if width_max is not None and any(canvas.width > width_max for canvas in drawn):
        return None
    rows: list[Canvas] = []
    for canvas in drawn:
        if rows and width_max is not None and rows[-1].width + GAP + canvas.width <= width_max:
            rows[-1].append(canvas)
        else:
            rows.append(canvas)
    return rows


class Canvas:
    """Characters by row and column, some in the colour of a state."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._painted: dict[int, list[tuple[int, int, str]]] = {}  # row -> first, last, word

    @property
    def width(self) -> int:
        return max((len(row) for row in self._rows), default=0)

    def put(self, row: int, column: int, text: str, word: str = "") -> None:
        while len(self._rows) <= row:
            self._rows.append([])
        cells = self._rows[row]
        cells.extend(" " * (column + len(text) - len(cells)))
        cells[column : column + len(text)] = text
        if word:
            self._painted.setdefault(row, []).append((column, column + len(text), word))

    def append(self, other: Canvas) -> None:
        """Add another canvas to the right of this one."""
        start = self.width + GAP
        for number, cells in enumerate(other._rows):
            self.put(number, start, "".join(cells))
        for number, spans in other._painted.items():
            shifted = [(first + start, last + start, word) for first, last, word in spans]
            self._painted.setdefault(number, []).extend(shifted)

    def lines(self, paint: Paint | None = None, *, plain: bool = False) -> Iterable[str]:
        """`plain` means ASCII only."""
        for number, cells in enumerate(self._rows):
            text = "".join(cells).translate(_PLAIN) if plain else "".join(cells)
            if paint is not None:
                for first, last, word in sorted(self._painted.get(number, ()), reverse=True):
                    text = text[:first] + paint(word, text[first:last]) + text[last:]
            yield text.rstrip()


def _draw_component(boxes: Sequence[Box], edges: Sequence[Edge]) -> Canvas:
    known = {box.key: box for box in boxes}
    layers = layout_layers({box.key: box.width for box in boxes}, edges)
    canvas = Canvas()
    row = 0
    for number, layer in enumerate(layers):
        height = max(len(known[cell.key].lines) if cell.key else 0 for cell in layer) + 2
        for cell in layer:
            if cell.key:
                _draw_box(canvas, row, cell, known[cell.key])
            beneath = row + (len(known[cell.key].lines) + 2 if cell.key else 0)
            if cell.below:
                for each in range(beneath, row + height):
                    canvas.put(each, cell.centre, _LINES[NORTH | SOUTH])
        row += height
        if number + 1 < len(layers):
            row += _draw_channel(canvas, row, layer)
    return canvas


def _draw_box(canvas: Canvas, row: int, cell: Cell, box: Box) -> None:
    inner = cell.width - 2
    canvas.put(row, cell.left, f"┌{'─' * inner}┐")
    for number, line in enumerate(box.lines, 1):
        canvas.put(row + number, cell.left, f"│ {line.ljust(inner - 2)} │")
    if box.state:
        canvas.put(row + 1, cell.left + 2, box.lines[0], box.state)
    canvas.put(row + 1 + len(box.lines), cell.left, f"└{'─' * inner}┘")
    if cell.below:
        canvas.put(row + 1 + len(box.lines), cell.centre, "┬")


@dataclass(slots=True)
class _Bus:
    """Lines that lead to the same cells below."""

    sources: set[int] = field(default_factory=set)
    entered: list[tuple[Cell, int]] = field(default_factory=list)  # each cell below, and where
    track: int = -1  # none: it goes straight down
    turns: dict[int, int] = field(default_factory=dict)  # source -> the column to which it turns first

    @property
    def targets(self) -> set[int]:
        return {column for _, column in self.entered}

    @property
    def is_straight(self) -> bool:
        return self.sources == self.targets and len(self.sources) == 1

    @property
    def columns(self) -> set[int]:
        return {self.turns.get(source, source) for source in self.sources} | self.targets


def _draw_channel(canvas: Canvas, row: int, layer: Sequence[Cell]) -> int:
    """Draw the lines between two layers. Returns the number of rows."""
    buses = _buses(layer)
    height = max(_assign_tracks(buses), 1)
    grid: dict[tuple[int, int], int] = {}
    junctions: set[tuple[int, int]] = set()
    for bus in buses:
        _draw_horizontals(bus, grid, junctions)
    for bus in buses:
        for source in bus.sources:
            turn = bus.turns.get(source)
            ends = height if bus.is_straight else bus.track if turn is None else 0
            _draw_vertical(source, -1, ends, grid, junctions)
            if turn is not None:
                _draw_vertical(turn, 0, bus.track, grid, junctions)
        if not bus.is_straight:
            for target in bus.targets:
                _draw_vertical(target, bus.track, height, grid, junctions)
    for (number, column), mask in grid.items():
        canvas.put(row + number, column, _LINES[mask])
    for bus in buses:
        for cell, column in bus.entered:
            canvas.put(row + height, column, ARROW if cell.key else _LINES[NORTH | SOUTH])
    return height + 1


def _buses(layer: Sequence[Cell]) -> list[_Bus]:
    shared: dict[frozenset[int], _Bus] = {}
    entered: dict[int, tuple[Cell, list[_Bus]]] = {}
    for cell in layer:
        key = frozenset(map(id, cell.below))
        if key and key not in shared:
            shared[key] = _Bus()
            for other in cell.below:
                entered.setdefault(id(other), (other, []))[1].append(shared[key])
        if key:
            shared[key].sources.add(cell.centre)
    for other, buses in entered.values():
        _choose_ports(other, buses, len(other.above))
    return list(shared.values())


def _choose_ports(cell: Cell, buses: list[_Bus], above: int) -> None:
    """The column where each line enters a box: straight below its source, if that is above the box."""
    least, most = cell.left + 1, cell.left + cell.width - 2
    if len(buses) == 1 and (above > 1 or not least <= min(buses[0].sources) <= most or not cell.key):
        buses[0].entered.append((cell, cell.centre))
        return
    buses.sort(key=lambda bus: sum(bus.sources) / len(bus.sources))
    wanted = [min(max(sum(bus.sources) / len(bus.sources), least), most) for bus in buses]
    offsets = [PORT_GAP * number for number in range(len(buses))]
    for bus, column, offset in zip(buses, fit_positions(wanted, offsets), offsets, strict=True):
        bus.entered.append((cell, min(max(column - offset, least), most - offsets[-1]) + offset))


def _assign_tracks(buses: Sequence[_Bus]) -> int:
    """Give each bus the first free row. Returns the number of rows.

    In a column where one bus comes from above and another leads down, the first must be above the second. Where that
    goes round in a circle, a source turns to a column of its own in a row above all others.
    """
    waiting = [bus for bus in buses if not bus.is_straight]
    placed: list[_Bus] = []
    taken: list[list[tuple[int, int]]] = []
    used = {column for bus in buses for column in bus.columns}
    while waiting:
        bus = _first_unblocked(waiting)
        if bus is None:
            _route_around(waiting[0], waiting, used)
            continue
        least = max((other.track + 1 for other in placed if _must_follow(bus, other)), default=0)
        bus.track = _first_free(taken, least, min(bus.columns), max(bus.columns))
        waiting.remove(bus)
        placed.append(bus)
    if not any(bus.turns for bus in placed):
        return len(taken)
    for bus in placed:
        bus.track += 1  # below the row of the turns
    return len(taken) + 1


def _first_unblocked(waiting: Sequence[_Bus]) -> _Bus | None:
    """A bus that does not have to be below another remaining bus."""
    for bus in waiting:
        if not any(_must_follow(bus, other) for other in waiting if other is not bus):
            return bus
    return None


def _must_follow(bus: _Bus, other: _Bus) -> bool:
    return not bus.targets.isdisjoint(other.sources - set(other.turns))


def _route_around(bus: _Bus, waiting: Sequence[_Bus], used: set[int]) -> None:
    blocking = {target for other in waiting if other is not bus for target in other.targets}
    source = min(source for source in bus.sources - set(bus.turns) if source in blocking)
    column = next(source + step for step in range(2, 10_000) if source + step not in used)
    used.add(column)
    bus.turns[source] = column


def _first_free(taken: list[list[tuple[int, int]]], least: int, first: int, last: int) -> int:
    for track in range(least, len(taken) + least + 1):
        while len(taken) <= track:
            taken.append([])
        if all(last + 1 < begin or end < first - 1 for begin, end in taken[track]):
            taken[track].append((first, last))
            return track
    raise AssertionError("a new track is always free")


def _draw_horizontals(bus: _Bus, grid: dict[tuple[int, int], int], junctions: set[tuple[int, int]]) -> None:
    for source, turn in bus.turns.items():
        _draw_horizontal(0, source, turn, grid)
        junctions |= {(0, source), (0, turn)}
    if not bus.is_straight:
        _draw_horizontal(bus.track, min(bus.columns), max(bus.columns), grid)
        junctions |= {(bus.track, column) for column in bus.columns}


def _draw_horizontal(row: int, first: int, last: int, grid: dict[tuple[int, int], int]) -> None:
    for column in range(first, last + 1):
        mask = (WEST if column > first else 0) | (EAST if column < last else 0)
        grid[row, column] = grid.get((row, column), 0) | mask


def _draw_vertical(
    column: int, above: int, below: int, grid: dict[tuple[int, int], int], junctions: set[tuple[int, int]]
) -> None:
    """From one row to another: at its ends it joins, in between it passes all but junctions of its own column."""
    for row in range(max(above, 0), below + 1):
        mask = (NORTH if row > above else 0) | (SOUTH if row < below else 0)
        if (row, column) in junctions:
            grid[row, column] = grid.get((row, column), 0) | mask
        else:
            grid[row, column] = mask
