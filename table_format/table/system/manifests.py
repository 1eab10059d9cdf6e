"""``$manifests`` and ``$table_indexes``: the metadata files of the snapshot a scan would read (Java ``ManifestsTable``,
``TableIndexesTable``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.model.manifest import IndexManifestEntry, ManifestFileMeta
from table_format.model.types import ArrayType, BigIntType, DataField, IntType, RowType
from table_format.table.facts import TableFacts
from table_format.table.read.time_travel import starting_point
from table_format.table.rows.texts import bracketed
from table_format.table.system.metadata import LONG, TEXT, Row, columns

COLUMNS: Final = columns(
    file_name=TEXT.not_null(),
    file_size=LONG.not_null(),
    num_added_files=LONG.not_null(),
    num_deleted_files=LONG.not_null(),
    schema_id=LONG.not_null(),
    min_partition_stats=TEXT,
    max_partition_stats=TEXT,
    min_row_id=LONG,
    max_row_id=LONG,
)
_RANGE: Final = RowType(
    (
        DataField(0, "f0", TEXT.not_null()),
        DataField(1, "f1", IntType(nullable=False)),
        DataField(2, "f2", IntType(nullable=False)),
        DataField(3, "_CARDINALITY", BigIntType()),
    )
)
INDEX_COLUMNS: Final = columns(
    partition=TEXT,
    bucket=IntType(nullable=False),
    index_type=TEXT.not_null(),
    file_name=TEXT.not_null(),
    file_size=LONG.not_null(),
    row_count=LONG.not_null(),
    dv_ranges=ArrayType(_RANGE),
    row_range_start=LONG,
    row_range_end=LONG,
    index_field_id=IntType(),
    index_field_name=TEXT,
)


def rows(facts: TableFacts) -> Sequence[Row]:
    """The manifests of base, delta and changelog, in the order of the lists."""
    snapshot = starting_point(facts).snapshot
    if snapshot is None:
        return []
    found = (*facts.manifests.data_manifests(snapshot), *facts.manifests.changelog_manifests(snapshot))
    return [_row(facts, meta) for meta in found]


def index_rows(facts: TableFacts) -> Sequence[Row]:
    """The live index files."""
    snapshot = starting_point(facts).snapshot
    return [] if snapshot is None else [_index_row(facts, e) for e in facts.manifests.index_entries(snapshot)]


def _row(facts: TableFacts, meta: ManifestFileMeta) -> Row:
    types = facts.partitions.types
    return {
        "file_name": meta.file_name,
        "file_size": meta.file_size,
        "num_added_files": meta.num_added_files,
        "num_deleted_files": meta.num_deleted_files,
        "schema_id": meta.schema_id,
        "min_partition_stats": bracketed(types, meta.partition_stats.min_values),
        "max_partition_stats": bracketed(types, meta.partition_stats.max_values),
        "min_row_id": meta.min_row_id,
        "max_row_id": meta.max_row_id,
    }


def _index_row(facts: TableFacts, entry: IndexManifestEntry) -> Row:
    file = entry.index_file
    ranges = file.deletion_vector_ranges
    return {
        "partition": bracketed(facts.partitions.types, entry.partition),
        "bucket": entry.bucket,
        "index_type": file.index_type,
        "file_name": file.file_name,
        "file_size": file.file_size,
        "row_count": file.row_count,
        "dv_ranges": None
        if ranges is None
        else [{"f0": r.data_file, "f1": r.offset, "f2": r.length, "_CARDINALITY": r.cardinality} for r in ranges],
        # These columns describe global indexes, which index manifests of this version do not contain.
        "row_range_start": None,
        "row_range_end": None,
        "index_field_id": None,
        "index_field_name": None,
    }
