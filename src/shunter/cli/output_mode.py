"""How much this command line prints: what the options --quiet and --output wide have chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class OutputMode:
    is_quiet: bool = False  # results and errors only; of listings, only the names
    is_wide: bool = False  # all columns of tables, uncut

    def reset(self) -> None:
        self.is_quiet = self.is_wide = False


mode = OutputMode()  # of this process, which is one command line
