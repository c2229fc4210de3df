"""Runs a command where the cluster's secrets are hidden: `python -I -S -E masked_exec.py MASKS [COMMAND ...]`. Without
a command it only tries whether they can be hidden. MASKS is the JSON object that `keeper.masks` describes. Started by
`worker.isolation`, and by health checks of tasks whose keeper hides the secrets too."""

from __future__ import annotations

import os
import sys

EXIT_NOT_MASKED, EXIT_NOT_FOUND = 125, 127

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/")[0])
    from keeper.json_lines import decode  # type: ignore[import-not-found,unused-ignore]
    from keeper.masks import hide_secrets  # type: ignore[import-not-found,unused-ignore]

    try:
        hide_secrets(decode(sys.argv[1].encode()))
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_NOT_MASKED)
    if command := sys.argv[2:]:
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
            sys.exit(EXIT_NOT_FOUND)
