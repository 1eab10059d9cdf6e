"""``$statistics``: the statistics of the last ANALYZE that still apply (Java ``StatisticTable``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.codecs.statistics_json import columns_text
from table_format.metastore.manifest.statistics_file import read_statistics
from table_format.table.facts import TableFacts
from table_format.table.read.time_travel import starting_point
from table_format.table.system.metadata import LONG, TEXT, Row, columns

COLUMNS: Final = columns(
    snapshot_id=LONG.not_null(),
    schema_id=LONG.not_null(),
    mergedRecordCount=LONG,
    mergedRecordSize=LONG,
    colstat=TEXT,
)


def rows(facts: TableFacts) -> Sequence[Row]:
    """The statistics of the snapshot that a scan would read: one row or none."""
    found = read_statistics(facts.store, starting_point(facts).snapshot)
    if found is None:
        return []
    return [
        {
            "snapshot_id": found.snapshot_id,
            "schema_id": found.schema_id,
            "mergedRecordCount": found.merged_record_count,
            "mergedRecordSize": found.merged_record_size,
            "colstat": columns_text(found.columns),
        }
    ]
