"""Several commands of a program in one process: each would import Dagster first, which takes longer than its work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

DAGSTER: Final = "dagster._cli:main"
DG: Final = "dagster_dg_cli.cli:main"

_END: Final = "--- end of a command ---\n"
_RUN: Final = """
import json, sys
from pkgutil import resolve_name
main, commands, end = resolve_name(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
for command in commands:
    sys.argv = command
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    print(end, end="", flush=True)
"""


def in_one_process(main: str, commands: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return arguments for Python with which it runs commands of the program ``main``, and ends at the first error."""
    return "-c", _RUN, main, json.dumps([list(command) for command in commands]), _END


def printed_by_each(printed: str) -> list[str]:
    """Split what they have printed."""
    return printed.split(_END)[:-1]
