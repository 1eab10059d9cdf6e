"""Converts Spark's errors about missing files to errors that say that the planned snapshot or the table is gone.

Spark reads most files itself when it runs a DataFrame, long after planning and without this library. Its error for a
missing file names only the file. The tables of planned DataFrames are remembered, so the driver can handle the error
like that of any other reader: see ``metastore/references/expired_reads.py``.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final
from urllib.parse import unquote

from table_format.errors import MissingFile, SnapshotExpired, TableFormatError, TableNotFound, TableReplaced
from table_format.io.table_store import TableStore
from table_format.metastore.references.expired_reads import LOST, explain_missing, snapshots_of
from table_format.model.split import SnapshotRef
from table_format.spark.tasks.explained_errors import explain_errors
from table_format.table.read.plan import Plan

_MISSING: Final = re.compile(r"FILE_NOT_EXIST|FileNotFoundException|does not exist", re.IGNORECASE)
_GONE: Final = {error.__name__: error for error in (SnapshotExpired, TableNotFound, TableReplaced)}
_RAISED: Final = re.compile(rf"^table_format\.errors\.({'|'.join(_GONE)}): (.*{LOST}.*)$", re.MULTILINE)
"""Matches the error of a reader of this library in the stack trace of a task."""
_PATH: Final = re.compile(r"(?:file:)?(/[^\s,;\"'\]]+)")
_PLANS: Final = 1024
"""Maximum number of remembered plans, including those of DataFrames that no longer run."""


@dataclass(slots=True)
class PlannedSnapshots:
    """The snapshots of planned DataFrames by table and branch. The least recently planned are dropped first."""

    _known: OrderedDict[tuple[str, str, str | None, SnapshotRef, bool], TableStore] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def note(self, store: TableStore, plan: Plan) -> None:
        """Remember the snapshots of the splits of a plan."""
        with self._lock:
            for _, snapshot, as_changes in snapshots_of(plan.splits):
                key = (store.paths.root, store.paths.branch, store.identity, snapshot, as_changes)
                self._known[key] = store
                self._known.move_to_end(key)
            while len(self._known) > _PLANS:
                self._known.popitem(last=False)

    def explained(self, text: str) -> TableFormatError | None:
        """Return the error of a DataFrame whose snapshot or table is gone, if the text of Spark's error shows that."""
        raised = _RAISED.search(text)
        if raised is not None:
            return _GONE[raised.group(1)](raised.group(2))
        if _MISSING.search(text) is None:
            return None
        paths = ["/" + unquote(path).lstrip("/") for path in _PATH.findall(text)]
        with self._lock:
            known = list(reversed(self._known.items()))
        for (root, _, _, snapshot, as_changes), store in known:
            path = next((path for path in paths if path.startswith(f"{root}/")), None)
            if path is not None:
                found = explain_missing(store, MissingFile(path), snapshot, as_changes=as_changes)
                if not isinstance(found, MissingFile):
                    return found
        return None


planned: Final = PlannedSnapshots()


def install_expiry_errors() -> None:
    """Convert Spark's errors about files of lost snapshots and tables from now on. Idempotent."""
    explain_errors(planned.explained)
