"""Hidden columns with the location of a row: its file, its position in the file, its partition and its bucket.

Names and types are those of Paimon's connector. A merged row is in several files, so such a read is refused, as in
Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F

from table_format.errors import UnsupportedFeature
from table_format.model.condition import Filter
from table_format.model.predicate import Predicate, columns_of, conjunction, conjuncts
from table_format.model.row_order import RowLimit
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, IntType, RowType, VarCharType
from table_format.spark.names import column
from table_format.spark.read.conditions import condition
from table_format.spark.read.numbered_rows import FILE, POSITION, numbered_frame
from table_format.spark.read.pinned_scan import PinnedScan
from table_format.spark.read.spark_parquet import is_merged
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.state_plan import state_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE_PATH: Final = "__paimon_file_path"
ROW_INDEX: Final = "__paimon_row_index"
PARTITION: Final = "__paimon_partition"
BUCKET: Final = "__paimon_bucket"

METADATA_COLUMNS: Final = (FILE_PATH, ROW_INDEX, PARTITION, BUCKET)

_BY_FILE: Final = (FILE_PATH, BUCKET)
"""The columns with the same value for all rows of a file."""

_MAX_ID: Final = 2**31 - 1


def metadata_fields(schema: TableSchema) -> dict[str, DataField]:
    """Return the hidden columns of a table by name. A table column with the same name takes precedence."""
    partition = RowType(tuple(DataField(f.id, f.name, f.type.with_nullable(True)) for f in schema.partition_fields))
    fields = (
        DataField(_MAX_ID - 101, FILE_PATH, VarCharType()),
        DataField(_MAX_ID - 100, ROW_INDEX, BigIntType()),
        DataField(_MAX_ID - 102, PARTITION, partition),
        DataField(_MAX_ID - 103, BUCKET, IntType()),
    )
    return {field.name: field for field in fields if field.name not in schema.field_names}


def hidden_in(columns: Sequence[str] | None, schema: TableSchema) -> bool:
    """Return whether one of the columns is a hidden column of a table with this schema."""
    return columns is not None and not metadata_fields(schema).keys().isdisjoint(columns)


@dataclass(frozen=True)
class MetadataScan:
    """The rows of a snapshot with hidden columns among ``names``. Queries without hidden columns read as usual."""

    scan: PinnedScan
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, spark: SparkSession, facts: TableFacts, columns: Sequence[str], filter: Filter | None
    ) -> MetadataScan | None:
        """Return the scan of the snapshot that the options name; ``None`` if the table has no snapshot.

        Raises:
            NotFoundError: the snapshot or tag, or a column, does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the scan reads changes, or a table with a fallback branch.
        """
        scan = PinnedScan.of(spark, facts, None, filter)
        if scan is None:
            if facts.snapshots.latest() is None:
                return None
            feature = "a metadata column of changes, or of a table with a fallback branch"
            message = f"{feature} is not supported; read the state of {facts.name} or of its branch"
            raise UnsupportedFeature(feature, message)
        found = cls(scan, tuple(columns))
        _ = found.fields
        return found

    @property
    def spark(self) -> SparkSession:
        """The session of the DataFrames."""
        return self.scan.spark

    @cached_property
    def _hidden(self) -> dict[str, DataField]:
        return metadata_fields(self.scan.start.schema)

    @cached_property
    def fields(self) -> tuple[DataField, ...]:
        """The columns."""
        return shown_fields(self.scan.start.schema, self.names)

    def frame(
        self,
        columns: Sequence[str] | None = None,
        pruning: Predicate | None = None,
        *,
        is_limited: bool = False,
        limit: RowLimit | None = None,
        note: Callable[[str], None] | None = None,
    ) -> DataFrame:
        """Return rows as ``PinnedScan.frame`` does.

        Raises:
            UnsupportedFeature: rows of several files must be merged, so a row has no single location.
        """
        shown = self.names if columns is None else tuple(columns)
        given, pruning = pruning, without_hidden(pruning, self.scan.start.schema)
        if limit is not None and (pruning != given or any(each.column in self._hidden for each in limit.order)):
            limit = None
        if self._hidden.keys().isdisjoint(shown):
            return self.scan.frame(shown, pruning, is_limited=is_limited, limit=limit, note=note)
        rows = self._located(shown, pruning)
        return rows.select(*map(column, shown))

    def _located(self, shown: Sequence[str], pruning: Predicate | None) -> DataFrame:
        """Return the rows with the columns from which the shown columns are computed."""
        facts, start, predicate = self.scan.facts, self.scan.start, self.scan.predicate
        hidden = [name for name in shown if name in self._hidden]
        needed = {*set(shown).difference(hidden), *columns_of_hidden(start.schema, hidden)}
        needed |= set() if predicate is None else columns_of(predicate)
        wanted = tuple(name for name in start.schema.field_names if name in needed) or start.schema.field_names[:1]
        both = conjunction(tuple(part for part in (predicate, pruning) if part is not None))
        rows = located_frame(self.spark, facts, state_plan(facts, start, wanted, both), hidden, tested=predicate)
        return rows if predicate is None else rows.where(condition(predicate, start.schema.fields))


def shown_fields(schema: TableSchema, names: Sequence[str]) -> tuple[DataField, ...]:
    """Return columns of a table by name, including hidden ones.

    Raises:
        ColumnNotFound: a column does not exist.
    """
    hidden = metadata_fields(schema)
    return tuple(hidden[name] if name in hidden else schema.field(name) for name in names)


def columns_of_hidden(schema: TableSchema, hidden: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a table from which hidden columns are computed."""
    return schema.partition_keys if PARTITION in hidden else ()


def located_frame(
    spark: SparkSession, facts: TableFacts, plan: Plan, hidden: Sequence[str], *, tested: Predicate | None
) -> DataFrame:
    """Return ``numbered_frame`` with some hidden columns. The plan has the columns from which they are computed.

    Raises:
        UnsupportedFeature: rows of several files must be merged, so a row has no single location.
    """
    _refuse_merged(facts, plan, hidden)
    rows = numbered_frame(spark, facts, plan, tested=tested)
    by_file = [name for name in _BY_FILE if name in hidden]
    if by_file:
        rows = rows.join(F.broadcast(_files(spark, facts, plan).select(FILE, *by_file)), FILE, "left")
    by_row = {ROW_INDEX: F.col(POSITION), PARTITION: F.struct(*map(column, plan.schema.partition_keys))}
    return rows.withColumns({name: value for name, value in by_row.items() if name in hidden})


def without_hidden(predicate: Predicate | None, schema: TableSchema) -> Predicate | None:
    """Return the parts of a condition without hidden columns."""
    known = frozenset(schema.field_names)
    return conjunction(tuple(part for part in conjuncts(predicate) if columns_of(part) <= known))


def _refuse_merged(facts: TableFacts, plan: Plan, hidden: Sequence[str]) -> None:
    if any(is_merged(split) for split in plan.splits):
        feature = "a metadata column of rows that are merged from several files"
        message = (
            f"{feature} is not supported: {facts.name} has files with overlapping keys, so a row may be in several "
            f"files; compact it, set deletion-vectors.enabled = true, or leave out {', '.join(hidden)}"
        )
        raise UnsupportedFeature(feature, message)


def _files(spark: SparkSession, facts: TableFacts, plan: Plan) -> DataFrame:
    """Return the path and the bucket of each file, by file name."""
    names, paths, buckets = [], [], []
    for split in plan.splits:
        partition = facts.partitions.text(split.partition)
        for file in split.files:
            names.append(file.file_name)
            paths.append(facts.store.paths.data_file(partition, split.bucket, file))
            buckets.append(split.bucket)
    columns = {FILE: pa.array(names, pa.string()), FILE_PATH: pa.array(paths, pa.string())}
    rows = pa.table({**columns, BUCKET: pa.array(buckets, pa.int32())})
    schema = f"{FILE} string, {FILE_PATH} string, {BUCKET} int"
    return frame_of_rows(spark, rows, schema)
