"""Files that Spark's own reader does not find, told as the expiry of the snapshot that was planned.

Spark reads most files itself, when it runs a frame: long after it was planned, and without asking the library. What it
raises for a missing file names the file and nothing else. The tables that frames were planned of are remembered, so the
error can be looked at on the driver as any other reader's is: see ``metastore/references/expired_reads.py``.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final
from urllib.parse import unquote

from pyspark.errors.exceptions import captured

from table_format.errors import MissingFile, SnapshotExpired
from table_format.io.table_store import TableStore
from table_format.metastore.references.expired_reads import explain_missing
from table_format.table.read.plan import Plan

_MISSING: Final = re.compile(r"FILE_NOT_EXIST|FileNotFoundException|does not exist", re.IGNORECASE)
_EXPIRED: Final = re.compile(r"^table_format\.errors\.SnapshotExpired: (.*)$", re.MULTILINE)
"""The error of a task of the library's own readers, at the end of its stack trace."""
_PATH: Final = re.compile(r"(?:file:)?(/[^\s,;\"'\]]+)")
_PLANS: Final = 1024
"""Plans that are remembered: those of frames that nobody runs any more are among them."""


@dataclass(slots=True)
class PlannedSnapshots:
    """The snapshots of the frames that were planned, by table and branch, the least recently planned dropped first."""

    _known: OrderedDict[tuple[str, str, int], TableStore] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def note(self, store: TableStore, plan: Plan) -> None:
        """Remember the snapshots that the splits of a plan come from."""
        ids = {snapshot_id for split in plan.splits for snapshot_id in split.snapshot_ids}
        with self._lock:
            for snapshot_id in ids:
                key = (store.paths.root, store.paths.branch, snapshot_id)
                self._known[key] = store
                self._known.move_to_end(key)
            while len(self._known) > _PLANS:
                self._known.popitem(last=False)

    def explained(self, text: str) -> SnapshotExpired | None:
        """The error of a frame whose snapshot was expired meanwhile, if the text of Spark's error shows that."""
        raised = _EXPIRED.search(text)
        if raised is not None:
            return SnapshotExpired(raised.group(1))
        if _MISSING.search(text) is None:
            return None
        paths = ["/" + unquote(path).lstrip("/") for path in _PATH.findall(text)]
        with self._lock:
            known = list(self._known.items())
        for (root, _, snapshot_id), store in known:
            path = next((path for path in paths if path.startswith(f"{root}/")), None)
            if path is not None:
                found = explain_missing(store, MissingFile(path), snapshot_id)
                if isinstance(found, SnapshotExpired):
                    return found
        return None


planned: Final = PlannedSnapshots()


def install_expiry_errors() -> None:
    """From now on let Spark's errors about files of expired snapshots be ``SnapshotExpired``; twice is once."""
    convert: Callable[[Any], Any] = captured.convert_exception
    if getattr(convert, "explains_expiry", False):
        return

    def converted(e: Any) -> Any:  # noqa: ANN401 - whatever the JVM raised
        plain = convert(e)
        return planned.explained(str(plain)) or plain

    converted.explains_expiry = True  # type: ignore[attr-defined]  # a mark on the function
    captured.convert_exception = converted
