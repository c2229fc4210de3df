"""How every benchmark measures and reports: contenders take turns; medians with their spread; a threshold to reach.

The machines are noisy, so a peer is measured in the same run as Shunter, turn by turn; the ratio of the two medians
means more than either figure. `--json` prints one line of JSON for each figure instead of a sentence."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS = 3
ROUNDS_SMALL = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """What one contender reached, once a round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        spread = f" ({_short(min(self.values))} to {_short(max(self.values))})" if len(self.values) > 1 else ""
        return f"{_short(self.median)}{spread}"


@dataclass(frozen=True, slots=True)
class Bar:
    """What must be reached: `Bar(at_least=1.3)`, `Bar(at_most=4.0)`."""

    at_least: float | None = None
    at_most: float | None = None

    def is_met(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        signs = ((">=", self.at_least), ("<=", self.at_most))
        return " and ".join(f"{sign} {_short(limit)}" for sign, limit in signs if limit is not None)


@dataclass(frozen=True, slots=True)
class Options:
    """What every benchmark is told on the command line."""

    small: bool
    rounds: int
    json: bool


def read_options(description: str | None) -> Options:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--small", action="store_true", help="a small run, to see that it works; no bar is judged")
    parser.add_argument("--rounds", type=int, help=f"turns of each contender (default {ROUNDS}, small {ROUNDS_SMALL})")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each figure")
    given = parser.parse_args()
    return Options(given.small, given.rounds or (ROUNDS_SMALL if given.small else ROUNDS), given.json)


def interleave(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Sample]:
    """Every contender once a round, `rounds` times; the order turns around, so that nobody always goes first."""
    values: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name in list(contenders)[:: -1 if number % 2 else 1]:
            values[name].append(contenders[name]())
    return {name: Sample(tuple(found)) for name, found in values.items()}


@dataclass(frozen=True, slots=True)
class Report:
    """Prints the figures of one benchmark."""

    benchmark: str
    options: Options

    def figure(self, what: str, unit: str, sample: Sample, bar: Bar | None = None) -> None:
        """One figure, beside its bar where it has one."""
        self._print(f"{what}: {sample} {unit}", {"what": what, "unit": unit}, sample.median, bar, sample)

    def ratio(self, what: str, ours: Sample, peer_name: str, peer: Sample, bar: Bar | None = None) -> None:
        """Ours against a peer's, as the ratio of the medians."""
        ratio = ours.median / peer.median
        fields: dict[str, object] = {"what": what, "unit": "times", "peer": peer_name, "peer_values": peer.values}
        self._print(f"{what}: {ratio:.2f} times {peer_name}", fields, ratio, bar, ours)

    def _print(self, text: str, fields: dict[str, object], value: float, bar: Bar | None, sample: Sample) -> None:
        # A small run says that the benchmark works, and nothing about speed.
        met = bar.is_met(value) if bar and not self.options.small else None
        if self.options.json:
            judged = {"bar": str(bar), "met": met} if bar else {}
            line = {"benchmark": self.benchmark, **fields, "value": value, "values": sample.values, **judged}
            print(json.dumps({**line, "small": self.options.small}), flush=True)
            return
        verdict = "" if met is None else ", met" if met else ", MISSED"
        print(f"{self.benchmark}: {text}" + (f"   [must be {bar}{verdict}]" if bar else ""), flush=True)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
