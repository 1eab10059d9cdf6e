"""Workloads of tables that compact as they write, the same for every engine that has such tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from benchmarks.measure import Recorder
from benchmarks.source import BUCKETS, MODES, UPSERTS, Source


class Tables(Protocol):
    """What an engine does with its tables."""

    def create(self, name: str, options: Mapping[str, str]) -> None:
        """A table with the columns of the source and the key ``k``."""
        ...

    def write(self, name: str, rows: Path) -> None:
        """Upsert the rows of a Parquet file in one commit."""
        ...

    def compact(self, name: str, *, full: bool) -> None:
        """Compact everything, or what is due; an engine that cannot raises ``NotImplementedError``."""
        ...

    def scan(self, name: str) -> str:
        """The aggregate over all columns."""
        ...


def measure_modes(record: Recorder, source: Source, tables: Tables) -> None:
    """Upserts that compact at once; then upserts that are only written, and the compactions that make up for it."""
    for number, (mode, options) in enumerate(MODES.items()):
        name, given = f"mode_{number}", {"bucket": str(BUCKETS), **options}
        tables.create(name, given)
        tables.write(name, source.base)
        for batch in map(source.upsert, range(UPSERTS)):
            record.run(f"upsert, {mode}", lambda name=name, batch=batch: tables.write(name, batch))
        record.best_of(3, f"scan after compaction, {mode}", lambda name=name: tables.scan(name))
        _compactions(record, source, tables, mode, f"{name}_later", {**given, "write-only": "true"})


def _compactions(
    record: Recorder, source: Source, tables: Tables, mode: str, name: str, options: Mapping[str, str]
) -> None:
    tables.create(name, options)
    tables.write(name, source.base)
    tables.compact(name, full=True)
    for batch in map(source.upsert, range(UPSERTS)):
        tables.write(name, batch)
    try:
        record.run(f"minor compaction, {mode}", lambda: tables.compact(name, full=False))
    except NotImplementedError:
        # The full one then has more to do than that of an engine that can.
        return
    record.run(f"full compaction, {mode}", lambda: tables.compact(name, full=True))
