"""The table statistics that ANALYZE computes (format chapter 03, section 7; Java ``stats.Statistics``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """The statistics of one column; ``None`` means unknown. Lengths are in bytes, or in characters for text.

    ``minimum`` and ``maximum`` are values of the column's type in text form.
    """

    field_id: int
    distinct_count: int | None = None
    minimum: str | None = None
    maximum: str | None = None
    null_count: int | None = None
    average_length: int | None = None
    maximum_length: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The content of a statistics file: row count after merging, size of the files in bytes, and columns by name."""

    snapshot_id: int
    schema_id: int
    merged_record_count: int | None = None
    merged_record_size: int | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
