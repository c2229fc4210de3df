"""Finds cycles in dependencies. Used for the jobs and groups of manifests, and by the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


def find_cycle(waits_for: Mapping[T, Iterable[T]]) -> list[T] | None:
    """One cycle as `[a, b, a]`: a waits for b, and b for a. None if there is none.

    Walks depth first without recursion, so that a chain of any length is safe. What is waited for but has no entry of
    its own waits for nothing.
    """
    done: set[T] = set()
    for start in waits_for:
        if start in done:
            continue
        path = {start: None}  # in the order of the walk
        stack: list[Iterator[T]] = [iter(waits_for[start])]
        while stack:
            successor = next((each for each in stack[-1] if each not in done), None)
            if successor is None:
                stack.pop()
                done.add(path.popitem()[0])
            elif successor in path:
                path_nodes = list(path)
                return [*path_nodes[path_nodes.index(successor) :], successor]
            else:
                path[successor] = None
                stack.append(iter(waits_for.get(successor, ())))
    return None


def format_cycle(cycle: Iterable[object]) -> str:
    """`a -> b -> a`."""
    return " -> ".join(str(each) for each in cycle)
