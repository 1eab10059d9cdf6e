"""The command line ``lakehouse``. It uses only public names of the library.

Nothing else in the library imports this package. docs/command-line.md describes the commands.
"""

from __future__ import annotations

import sys

from table_format.errors import PackageMissing
from table_format.extras import require


def main() -> None:
    """Run the command line with the arguments of the process; the entry point of ``lakehouse``."""
    try:
        require("click")
        require("rich")
    except PackageMissing as error:
        sys.exit(f"error: {error}")
    from table_format.cli.program import lakehouse

    lakehouse()
