"""The keeper's entry point: `python -I -S -E keeper_main.py NUMBER < OPTIONS`, one process per lane. The worker starts
it detached (`worker.process.launcher`).

It is a script outside of the package, because importing `shunter` would cost a keeper more memory and time than all of
its own code. Everything it needs is in `keeper/`, which imports only light parts of the standard library. OPTIONS is
the JSON object that `keeper.lane` describes."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/")[0])
    from keeper.lane import main  # type: ignore[import-not-found,unused-ignore]

    main()
