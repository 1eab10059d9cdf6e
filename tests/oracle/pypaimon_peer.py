"""pypaimon as a running peer, in an environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.oracle.install import PYPAIMON_DIRECTORY
from tests.oracle.json_process import JsonProcess
from tests.oracle.peer import DIRECTORY

PYTHON = DIRECTORY / PYPAIMON_DIRECTORY / "bin" / "python"
READY = DIRECTORY / PYPAIMON_DIRECTORY / "ready"
_PROCESS = Path(__file__).parent / "pypaimon_process.py"


class PyPaimonPeer(JsonProcess):
    """``with PyPaimonPeer() as pypaimon: pypaimon.write(warehouse, "db.t", rows)``."""

    def __init__(self) -> None:
        super().__init__("the process of pypaimon", [PYTHON, _PROCESS])

    def write(self, warehouse: Path | str, table: str, rows: list[list[Any]], **catalog: str) -> None:
        """Commit rows, all of which are added; it compacts nothing. ``catalog`` has options beside the warehouse."""
        self._call("write", warehouse, table, rows=rows, catalog=catalog)

    def read(self, warehouse: Path | str, table: str, **catalog: str) -> list[list[Any]]:
        """The rows of the latest snapshot."""
        rows: list[list[Any]] = self._call("read", warehouse, table, catalog=catalog)["rows"]
        return rows
