"""Workloads of tables that compact as they write, the same for every engine that has such tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Protocol

from benchmarks.measure import Recorder
from benchmarks.source import BUCKETS, MODES, UPSERTS, Source


class Tables(Protocol):
    """What an engine does with its tables; not every one can compact only what is due."""

    compacts_what_is_due: ClassVar[bool]

    def create(self, name: str, options: Mapping[str, str]) -> None:
        """A table with the columns of the source and the key ``k``."""
        ...

    def write(self, name: str, rows: Path) -> None:
        """Upsert the rows of a Parquet file in one commit."""
        ...

    def compact(self, name: str, *, full: bool) -> None:
        """Compact everything, or what is due."""
        ...

    def scan(self, name: str) -> str:
        """The aggregate over all columns."""
        ...


def measure_modes(record: Recorder, source: Source, tables: Tables) -> None:
    """Upserts that compact at once; then upserts that are only written, and the compactions that make up for it."""
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
