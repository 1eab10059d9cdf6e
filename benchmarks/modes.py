"""Workloads of tables that compact during writes or whose keys move; the same for every engine that supports them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Protocol

from benchmarks.measure import Recorder
from benchmarks.source import BUCKETS, MODES, MOVING, UPSERTS, Source


class Tables(Protocol):
    """The operations of an engine on its tables. Some engines cannot compact only what is due."""

    compacts_what_is_due: ClassVar[bool]

    def create(self, name: str, options: Mapping[str, str]) -> None:
        """A table with the columns of the source and the key ``k``."""
        ...

    def create_moving(self, name: str, options: Mapping[str, str]) -> None:
        """Create a table of this mode, partitioned by an additional column that is not in the key."""
        ...

    def write(self, name: str, rows: Path) -> None:
        """Upsert the rows of a Parquet file in one commit."""
        ...

    def compact(self, name: str, *, full: bool) -> None:
        """Compact everything, or only what is due."""
        ...

    def scan(self, name: str) -> str:
        """Return the aggregate over all columns."""
        ...


def measure_modes(record: Recorder, source: Source, tables: Tables) -> None:
    """Measure upserts that compact immediately, then upserts that only write, and later compactions."""
    for number, (mode, options) in enumerate(MODES.items()):
        name, given = f"mode_{number}", {"bucket": str(BUCKETS), **options}
        tables.create(name, given)
        record.run(f"load, {mode}", lambda name=name: tables.write(name, source.base))
        for batch in map(source.upsert, range(UPSERTS)):
            record.run(f"upsert, {mode}", lambda name=name, batch=batch: tables.write(name, batch))
        record.best_of(3, f"scan after compaction, {mode}", lambda name=name: tables.scan(name))
        later = {**given, "write-only": "true"}
        for kind in ("minor", "full"):
            _compaction(record, source, tables, f"{kind} compaction, {mode}", f"{name}_{kind}", later)


def measure_moves(record: Recorder, source: Source, tables: Tables) -> None:
    """Keys that change their partition: a load, then upserts in which most of the known keys move."""
    tables.create_moving("moves", MOVING)
    record.run("load, moving keys", lambda: tables.write("moves", source.moving(source.base)))
    for batch in map(source.upsert, range(UPSERTS)):
        record.run("upsert, moving keys", lambda batch=batch: tables.write("moves", source.moving(batch)))
    record.best_of(3, "merge-on-read scan, moving keys", lambda: tables.scan("moves"))


def _compaction(
    record: Recorder, source: Source, tables: Tables, workload: str, name: str, options: Mapping[str, str]
) -> None:
    full = workload.startswith("full")
    if not (full or tables.compacts_what_is_due):
        return
    tables.create(name, options)
    tables.write(name, source.base)
    tables.compact(name, full=True)
    for batch in map(source.upsert, range(UPSERTS)):
        tables.write(name, batch)
    record.run(workload, lambda: tables.compact(name, full=full))
