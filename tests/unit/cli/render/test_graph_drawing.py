"""Drawings of graphs, read back as a person reads them: along the lines, straight over crossings."""

from __future__ import annotations

import random

import pytest

from shunter.cli.render.graph_drawing import Box, Canvas, draw
from shunter.cli.render.graph_layout import Edge, components, topological

NORTH, SOUTH, EAST, WEST = (-1, 0), (1, 0), (0, 1), (0, -1)
WAYS = {
    "│": (NORTH, SOUTH), "─": (EAST, WEST), "┌": (SOUTH, EAST), "┐": (SOUTH, WEST), "└": (NORTH, EAST),
    "┘": (NORTH, WEST), "├": (NORTH, SOUTH, EAST), "┤": (NORTH, SOUTH, WEST), "┬": (SOUTH, EAST, WEST),
    "┴": (NORTH, EAST, WEST), "┼": (NORTH, SOUTH, EAST, WEST),
}  # fmt: skip
TURNING = (155, 169, 333, 390, 419)  # seeds of graphs in which lines would go round in a circle


def lines_of(keys: list[str], edges: list[Edge]) -> list[str]:
    [canvas] = draw([Box(key, (key,)) for key in keys], edges) or []
    return list(canvas.lines())


def test_a_diamond_is_drawn_as_one() -> None:
    edges = [("fetch", "train"), ("fetch", "test"), ("train", "report"), ("test", "report")]
    assert lines_of(["fetch", "train", "test", "report"], edges) == [
        "      ┌───────┐",
        "      │ fetch │",
        "      └───┬───┘",
        "    ┌─────┴─────┐",
        "    ▼           ▼",
        "┌───────┐   ┌──────┐",
        "│ train │   │ test │",
        "└───┬───┘   └───┬──┘",
        "    └─────┬─────┘",
        "          ▼",
        "     ┌────────┐",
        "     │ report │",
        "     └────────┘",
    ]


def test_what_leads_to_the_same_boxes_shares_a_line() -> None:
    maps, reduces = ["m1", "m2", "m3"], ["r1", "r2"]
    lines = lines_of(maps + reduces, [(upper, lower) for upper in maps for lower in reduces])
    assert len(lines) == 3 + 2 + 3


def test_plain_characters_are_plain() -> None:
    [canvas] = draw([Box("a", ("a",)), Box("b", ("b",)), Box("c", ("c",))], [("a", "c"), ("b", "c")]) or []
    text = "\n".join(canvas.lines(plain=True))
    assert text.isascii() and "+" in text and "v" in text


def test_the_first_line_of_a_box_is_painted() -> None:
    [canvas] = draw([Box("a", ("a", "failed"), "failed"), Box("b", ("b",), "running")], [], 80) or []
    lines = list(canvas.lines(lambda word, text: f"<{word}:{text}>"))
    assert lines[1] == "│ <failed:a>      │   │ <running:b> │"


def test_what_does_not_hang_together_stands_side_by_side_while_there_is_room() -> None:
    boxes = [Box(key, (key,)) for key in "abcd"]
    assert len(draw(boxes, [], 100) or []) == 1
    assert len(draw(boxes, [], 15) or []) == 2
    assert len(draw(boxes, []) or []) == 4


def test_nothing_is_drawn_that_is_wider_than_the_terminal() -> None:
    assert draw([Box("a" * 60, ("a" * 60,))], [], 40) is None


@pytest.mark.parametrize("seed", [*range(60), *TURNING])
def test_any_graph_can_be_read_off_its_picture(seed: int) -> None:
    chance = random.Random(seed)
    keys = [f"{number}{'x' * chance.randrange(8)}" for number in range(chance.randrange(2, 13))]
    density = chance.random()
    edges = [(upper, lower) for at, upper in enumerate(keys) for lower in keys[at + 1 :] if chance.random() < density]
    chance.shuffle(edges)
    canvases = draw([Box(key, (key,)) for key in keys], edges) or []
    assert len(canvases) == len(components(keys, edges))
    found = set().union(*map(read_edges, canvases))
    assert found == set(edges), f"seed {seed}\n" + "\n".join(line for canvas in canvases for line in canvas.lines())


def read_edges(canvas: Canvas) -> set[Edge]:
    """Follow every line that leaves a box. A line belongs to all boxes above it, and leads to all below."""
    cells = {(row, column): char for row, line in enumerate(canvas.lines()) for column, char in enumerate(line)}
    boxes = find_boxes(cells)
    return {
        (key, reached)
        for key, (_, bottom, left, right) in boxes.items()
        for column in range(left + 1, right)
        if cells[bottom, column] == "┬"
        for reached in follow(cells, boxes, (bottom + 1, column))
    }


def find_boxes(cells: dict[tuple[int, int], str]) -> dict[str, tuple[int, int, int, int]]:
    """Name -> first and last row, first and last column."""
    boxes = {}
    for (row, column), char in cells.items():
        below = (row + 1, column)
        if char == "┌" and cells.get(below) == "│" and cells.get((row + 1, column + 2), " ").isdigit():
            right = column + 1
            while cells[row, right] == "─":
                right += 1
            if cells[row, right] == "┐" and cells.get((row + 1, right)) == "│":
                name = "".join(cells[row + 1, at] for at in range(column + 1, right)).strip()
                boxes[name] = (row, row + 2, column, right)
    return boxes


def follow(
    cells: dict[tuple[int, int], str], boxes: dict[str, tuple[int, int, int, int]], start: tuple[int, int]
) -> set[str]:
    """All boxes that a line leads to: down and sideways, never up. It goes straight on across a line that it passes."""
    reached: set[str] = set()
    seen: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    ahead = [(start, SOUTH)]
    while ahead:
        (row, column), way = ahead.pop()
        if ((row, column), way) in seen:
            continue
        seen.add(((row, column), way))
        char = cells.get((row, column), " ")
        if char == "▼":
            reached |= {
                name for name, (top, _, left, right) in boxes.items() if top == row + 1 and left < column < right
            }
            continue
        if is_inside(boxes, row, column):
            continue  # back at another box above
        back = (-way[0], -way[1])
        ways = WAYS[char] if back in WAYS[char] else (way,)  # not joined to it: it is passed beneath
        ahead += [((row + step[0], column + step[1]), step) for step in ways if step not in (back, NORTH)]
    return reached


def is_inside(boxes: dict[str, tuple[int, int, int, int]], row: int, column: int) -> bool:
    return any(top <= row <= bottom and left <= column <= right for top, bottom, left, right in boxes.values())


def test_what_is_waited_for_comes_first() -> None:
    assert topological(["c", "b", "a"], [("a", "b"), ("b", "c")]) == ["a", "b", "c"]
