"""Tables of Python rows with the metadata of their files, and reads with and without pruning.

Pruning skips as much as it may: statistics are exact, indexes contain every stored row, and row groups have two rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from table_format.codecs.binary_row import serialize_row
from table_format.kernels.hashing import row_hashes
from table_format.lsm.intervals import partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_read import merged_files
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, SimpleStats
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.split import SnapshotRef
from table_format.model.types import DataField, IntType, VarCharType
from table_format.options.scan import ScanOptions
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning
from table_format.pruning.read_kind import ReadKind
from table_format.table.read.splits import make_splits
from tests.kernels.predicate_model import answer

BUCKETS = 2
ROW_GROUP = 2

Row: TypeAlias = dict[str, Any]
"""``dt``, ``id``, ``v``, and ``kind``: + or -."""

_FIELDS = (
    DataField(0, "dt", VarCharType(nullable=False)),
    DataField(1, "id", IntType(nullable=False)),
    DataField(2, "v", IntType()),
)
_KEY = (IntType(nullable=False),)
_OPTIONS = {"bucket": str(BUCKETS)}
APPEND = TableSchema(0, _FIELDS, 2, partition_keys=("dt",), options={**_OPTIONS, "bucket-key": "id"})
KEYED = TableSchema(0, _FIELDS, 2, partition_keys=("dt",), primary_keys=("dt", "id"), options=_OPTIONS)


@dataclass(frozen=True)
class StoredFile:
    """One file. A deletion vector marks the rows at the positions ``outdated``."""

    entry: ManifestEntry
    rows: tuple[Row, ...]
    outdated: frozenset[int] = frozenset()

    @property
    def meta(self) -> DataFileMeta:
        return self.entry.file


@dataclass(frozen=True)
class StoredTable:
    """The files of a table, oldest first."""

    schema: TableSchema
    files: tuple[StoredFile, ...]
    kind: ReadKind
    engine: str = "deduplicate"

    @cached_property
    def options(self) -> TableOptions:
        return TableOptions.parse({**self.schema.options, "merge-engine": self.engine})

    def pruning(self, predicate: Predicate | None) -> Pruning:
        return Pruning.of(self.kind, self.schema, self.options, predicate)


def stored(
    commits: Sequence[Sequence[Row]], kind: ReadKind, *, engine: str = "deduplicate", settled: int = 0
) -> StoredTable:
    """Return a table that was written in commits. The first ``settled`` commits are compacted to level 5."""
    schema = APPEND if kind is ReadKind.APPEND_TABLE else KEYED
    files: list[StoredFile] = []
    for number, commit in enumerate(commits):
        # Above level 0 and on its own level, because each key is live once.
        level = 0 if kind is not ReadKind.MERGE_ON_WRITE else 1 + len(commits) - number
        files += _files_of(schema, commit, number, level)
    table = StoredTable(schema, tuple(files), kind, engine)
    if settled and kind in (ReadKind.MERGE_ON_READ, ReadKind.DIFFERENCE):
        old = [file for file in files if file.meta.min_sequence_number < settled]
        rows = _merged([row for file in old for row in file.rows], engine)
        halves = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
        compacted = [found for half in halves for found in _files_of(schema, half, settled - 1, 5)]
        table = replace(table, files=(*compacted, *(file for file in files if file not in old)))
    return _with_vectors(table) if kind is ReadKind.MERGE_ON_WRITE else table


def _with_vectors(table: StoredTable) -> StoredTable:
    """Mark each row that a later file replaces, but not the rows that a later file retracts."""
    files = []
    for number, file in enumerate(table.files):
        later = [_key(row) for other in table.files[number + 1 :] for row in other.rows if row["kind"] == "+"]
        marked = frozenset(i for i, row in enumerate(file.rows) if _key(row) in later)
        files.append(replace(file, outdated=marked))
    return replace(table, files=tuple(files))


def _files_of(schema: TableSchema, rows: Iterable[Row], sequence: int, level: int) -> list[StoredFile]:
    def place(row: Row) -> tuple[str, int]:
        (found,) = row_hashes([_FIELDS[1].type], [pa.array([row["id"]], pa.int32())]).tolist()
        return row["dt"], abs(found) % BUCKETS

    ordered = sorted(rows, key=lambda row: (place(row), row["id"]))
    found = []
    for (dt, bucket), group in groupby(ordered, place):
        members = tuple(group)
        name = f"{dt}-{bucket}-{sequence}-{level}-{members[0]['id']}.parquet"
        meta = _meta(schema, members, name, sequence, level)
        partition = serialize_row((_FIELDS[0].type,), (dt,))
        found.append(StoredFile(ManifestEntry(FileKind.ADD, partition, bucket, BUCKETS, meta), members))
    return found


def _meta(schema: TableSchema, rows: Sequence[Row], name: str, sequence: int, level: int) -> DataFileMeta:
    is_keyed = schema.is_primary_key_table
    low, high = (serialize_row(_KEY, (rows[i]["id"],)) for i in (0, -1))
    columns = {f.name: [row[f.name] for row in rows if row[f.name] is not None] for f in _FIELDS}
    minima, maxima = ([bound(values, default=None) for values in columns.values()] for bound in (min, max))
    types = tuple(f.type.with_nullable(True) for f in _FIELDS)
    nulls = tuple(len(rows) - len(values) for values in columns.values())
    return DataFileMeta(
        file_name=name,
        file_size=100,
        row_count=len(rows),
        min_key=low if is_keyed else EMPTY_ROW,
        max_key=high if is_keyed else EMPTY_ROW,
        key_stats=SimpleStats(low, high, (0,)) if is_keyed else EMPTY_STATS,
        value_stats=SimpleStats(serialize_row(types, minima), serialize_row(types, maxima), nulls),
        min_sequence_number=sequence,
        max_sequence_number=sequence,
        schema_id=0,
        level=level,
        delete_row_count=sum(row["kind"] == "-" for row in rows),
    )


# --- reading ---------------------------------------------------------------------------------------------------------


def all_rows(table: StoredTable) -> list[Row]:
    """Return all rows of the table."""
    live = [row for file in table.files for row in _live(file, range(len(file.rows)))]
    if table.kind in (ReadKind.APPEND_TABLE, ReadKind.CHANGES):
        return live
    return _merged(live, table.engine)


def pruned_rows(table: StoredTable, pruning: Pruning) -> list[Row]:
    """Return the rows that the filter selects from the files, row groups and rows that pruning keeps."""
    files = _by_statistics(_by_place(table.files, pruning), pruning)
    if table.kind is ReadKind.CHANGES:
        found = [row for file in files for row in _live(file, _positions(file, pruning, merged=False))]
    else:
        found = list(_state(files, table, pruning))
    return selected(found, pruning.residual)


def kept_state(table: StoredTable, pruning: Pruning) -> list[Row]:
    """Return all rows of the files that pruning keeps, for a comparison with another state."""
    files = _by_statistics(_by_place(table.files, pruning), pruning)
    return _merged([row for file in files for row in file.rows], table.engine)


def selected(rows: Iterable[Row], predicate: Predicate | None) -> list[Row]:
    """Return the rows that a filter selects."""
    return [row for row in rows if predicate is None or answer(predicate, row) is True]


def _by_place(files: Iterable[StoredFile], pruning: Pruning) -> list[StoredFile]:
    condition = pruning.partition_condition
    return [
        file
        for file in files
        if (condition is None or answer(condition, {"dt": file.rows[0]["dt"]}) is True)
        and pruning.admits_bucket(file.entry.bucket, file.entry.total_buckets)
    ]


def _by_statistics(files: Sequence[StoredFile], pruning: Pruning) -> list[StoredFile]:
    schemas = {0: pruning.schema}
    by_keys, by_values = pruning.key_statistics_test(schemas), pruning.value_statistics_test(schemas)
    left = [file for file in files if by_keys is None or by_keys(file.meta)]
    if by_values is None:
        return left
    range_of = key_ranges(pruning.schema)
    kept = set()
    for group in by_bucket(file.entry for file in left).values():
        members = [entry.file for entry in group]
        is_apart = pruning.schema is APPEND or len(partition_into_sections(members, range_of)) == len(members)
        merged = pruning.merges(members) and not is_apart
        kept |= {file.file_name for file in pruning.kept_files(members, by_values, merged=merged)}
    return [file for file in left if file.meta.file_name in kept]


def _state(files: Sequence[StoredFile], table: StoredTable, pruning: Pruning) -> Iterable[Row]:
    known = {file.meta.file_name: file for file in files}
    verdicts = {
        name: pruning.index_verdict(lambda c, file=file: bool(selected(file.rows, c)), unknown=True)
        for name, file in known.items()
    }
    by_values = pruning.value_statistics_test({0: pruning.schema})
    splits = make_splits(
        [file.entry for name, file in known.items() if verdicts[name].by_key],
        pruning.schema,
        ScanOptions(),
        snapshot=SnapshotRef(1),
        pruning=pruning,
        may_match=lambda file: verdicts[file.file_name].by_row and (by_values is None or by_values(file)),
    )
    for split in splits:
        parts = merged_files(split.files, pruning.schema, raw_convertible=split.raw_convertible)
        read = [(known[meta.file_name], merged) for meta, merged in parts]
        read.sort(key=lambda item: item[0].meta.min_sequence_number)
        rows = [row for file, merged in read for row in _live(file, _positions(file, pruning, merged=merged))]
        yield from rows if split.raw_convertible else _merged(rows, table.engine)


def _positions(file: StoredFile, pruning: Pruning, *, merged: bool) -> Iterable[int]:
    """Return the positions of rows in the row groups that are read."""
    condition = pruning.row_group_condition(merged=merged)
    for start in range(0, len(file.rows), ROW_GROUP):
        group = range(start, min(start + ROW_GROUP, len(file.rows)))
        if selected((file.rows[i] for i in group), condition):
            yield from group


def _live(file: StoredFile, positions: Iterable[int]) -> Iterable[Row]:
    return (file.rows[i] for i in positions if i not in file.outdated)


def _key(row: Mapping[str, Any]) -> tuple[str, int]:
    return row["dt"], row["id"]


def _merged(rows: Iterable[Row], engine: str) -> list[Row]:
    """Merge rows, oldest first, to one row for each key, in the order of keys."""
    found: dict[tuple[str, int], Row] = {}
    for row in rows:
        old = found.get(_key(row))
        if old is None or engine == "deduplicate":
            found[_key(row)] = row
        elif engine == "aggregation":
            values = [v for v in (old["v"], row["v"]) if v is not None]
            found[_key(row)] = {**row, "v": sum(values) if values else None}
    return sorted((row for row in found.values() if row["kind"] == "+"), key=_key)
