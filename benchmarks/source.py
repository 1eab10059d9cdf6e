"""The rows of the measurements: generated once, and read by all engines as plain Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BUCKETS = 4
UPSERTS = 4

MERGING: dict[str, dict[str, str]] = {
    "partial-update scan, 4 runs": {
        "merge-engine": "partial-update",
        "fields.i1.sequence-group": "d1,s1,amount",
        "fields.i2.sequence-group": "i3,d2,s2,s3,ts",
    },
    "aggregation scan, 4 runs": {
        "merge-engine": "aggregation",
        "fields.i1.aggregate-function": "sum",
        "fields.i2.aggregate-function": "max",
        "fields.i3.aggregate-function": "min",
        "fields.amount.aggregate-function": "sum",
        **{f"fields.{name}.aggregate-function": "last_value" for name in ("d1", "s1", "ts")},
        **{f"fields.{name}.aggregate-function": "last_non_null_value" for name in ("d2", "s2", "s3")},
    },
}
"""Workloads that read the base rows and three upserts under another merge engine, and the options of their tables."""

MERGED_UPSERTS = 3

DYNAMIC = "dynamic buckets"
COPYING = "copy on write"

MODES: dict[str, dict[str, str]] = {
    "merge on write": {"deletion-vectors.enabled": "true"},
    COPYING: {"full-compaction.delta-commits": "1"},
    "lookup changelog": {"changelog-producer": "lookup"},
    DYNAMIC: {"bucket": "-1", "dynamic-bucket.target-row-num": "250000"},
}
"""Modes that compact as they write, and dynamic buckets; the workloads of each are in ``benchmarks.modes``."""

PARTITION = "p"
MOVING = {"bucket": "-1", "dynamic-bucket.target-row-num": "50000", "write-only": "true"}
"""Options of the table that is partitioned by ``PARTITION``, which is not in its key: upserts move keys."""


@dataclass(frozen=True)
class Source:
    """The directory of the files and their row count."""

    directory: Path
    rows: int

    @property
    def base(self) -> Path:
        return self.directory / "base.parquet"

    @property
    def upsert_rows(self) -> int:
        return self.rows // 10

    def upsert(self, number: int) -> Path:
        return self.directory / f"upsert-{number}.parquet"

    def moving(self, rows: Path) -> Path:
        """Return the same rows with the column ``PARTITION``. Most known keys of an upsert have another partition."""
        return rows.with_name(f"moving-{rows.name}")

    @property
    def merged(self) -> Path:
        """Return the rows that a reader sees after all upserts."""
        return self.directory / "merged.parquet"
