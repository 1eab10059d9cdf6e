"""Reads files that need no merge with Spark's vectorized Parquet reader, its pruning and its pushdown.

The schema and the file list are given, so Spark infers neither types nor partition columns. Columns are matched by
their names in the schema of the file and cast to the schema of the scan; if this needs more than a safe cast, or if a
file may lack the partition columns, the library's reader reads the files. Spark also skips rows that deletion vectors
mark or that newer versions supersede: see ``read/deletion_vectors.py``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import functions as F

from table_format.indexes.deletion_vectors import vectors_of
from table_format.io.paths import extension_of
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, columns_of, conjunction, conjuncts
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit, SplitContent
from table_format.model.types import (
    NESTED,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    VarCharType,
)
from table_format.pruning.file_bounds import FileBounds
from table_format.spark.names import quoted
from table_format.spark.read.conditions import condition
from table_format.spark.read.deletion_vectors import (
    DeletionVectorBudget,
    FileWithDeletedRows,
    RowMask,
    behind_barrier,
    metadata_member,
    scans_of,
    without_deleted_rows,
)
from table_format.spark.read.file_listing import listing_in_driver
from table_format.spark.read.positions import Positions
from table_format.spark.read.readable_names import are_readable
from table_format.spark.tasks.spark_reach import spark_reaches
from table_format.spark.types import frame_schema, spark_type
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")

_READER: Final = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
"""The class name of the reader with ``_metadata``. A setting can change the reader that ``parquet`` selects."""

_READER_OPTIONS: Final = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "mergeSchema": "false",
}
"""Options that override session settings which would change old dates or silently skip rows."""

_MAX_SHARE_OF_ROWS: Final = 0.1
"""Maximum number of rows that file indexes select. With more, Spark's reader is faster."""


@dataclass(frozen=True, slots=True)
class Division:
    """Splits by reader: Spark reads the files of ``whole`` and ``with_deletions``, this library reads ``python``.

    The files are given by schema id.
    """

    whole: dict[int, list[str]]
    """Full paths of files without rows to skip."""
    with_deletions: dict[int, list[FileWithDeletedRows]]
    """Files with deleted rows, and files that are read in the same scan because a union of two scans costs more."""
    python: tuple[DataSplit, ...]


def is_merged(split: DataSplit) -> bool:
    """Return whether rows of the files of a split are merged with each other."""
    return split.content is SplitContent.STATE and not split.raw_convertible


def is_readable(plan: Plan, facts: TableFacts, splits: Iterable[DataSplit]) -> bool:
    """Return whether Spark can read the files of these splits by itself."""
    if not spark_reaches(facts.store.io):
        return False
    simple = {i: _is_simple(schema, plan.fields) for i, schema in plan.schemas.items()}
    return all(simple[f.schema_id] and _is_parquet(f) for split in splits for f in split.files)


def divide(plan: Plan, facts: TableFacts, positions: Positions | None = None) -> Division:
    """Decide for each file whether Spark can read it by itself. This reads deletion vectors.

    With ``positions``, Spark also reads merged files, which requires ``is_readable``.

    Raises:
        CorruptionError: a deletion vector is missing or damaged, or does not match its data file.
    """
    if not spark_reaches(facts.store.io):
        return Division({}, {}, tuple(plan.splits))
    simple = {i: _is_simple(schema, plan.fields) for i, schema in plan.schemas.items()}
    files = _FilesOfSpark(facts)
    python: list[DataSplit] = []
    for split in plan.splits:
        if positions is not None and is_merged(split):
            seen = positions.seen(split)
            left = files.take(seen, [positions.mask_of(file) for file in seen.files], refused=positions.for_python)
            python += [positions.live_rows_of(seen, left)] if left else []
        elif _are_few(split) or not (
            _is_state(split) and all(simple[f.schema_id] and _is_parquet(f) for f in split.files)
        ):
            python.append(split)
        else:
            left = files.take(split, _vectors(facts, split))
            python += [_only(split, left)] if left else []
    return files.division(python)


Mask: TypeAlias = Callable[[], RowMask | None]
"""Reads which rows of a file to skip."""


def _vectors(facts: TableFacts, split: DataSplit) -> Sequence[Mask | None]:
    """Return the deletion vectors of the files of a split. They are read only when they are used."""
    vectors = vectors_of(facts.store.io, split.files, split.deletion_files)
    if vectors is None:
        return [None] * len(split.files)
    pairs = zip(split.files, split.deletion_files, strict=True)
    return [None if vector is None else partial(vectors.of, file) for file, vector in pairs]


class _FilesOfSpark:
    """The files that Spark reads, by schema id: files without rows to skip, and files with rows to skip."""

    def __init__(self, facts: TableFacts) -> None:
        self._facts = facts
        self._whole: dict[int, list[FileWithDeletedRows]] = defaultdict(list)
        self._masked: dict[int, list[FileWithDeletedRows]] = defaultdict(list)
        self._budget = DeletionVectorBudget()

    def take(self, split: DataSplit, masks: Sequence[Mask | None], *, refused: Collection[str] = ()) -> Sequence[int]:
        """Take the files of a split with their masks. Return the numbers of the files that were not taken."""
        text = self._facts.partitions.text(split.partition)
        left: list[int] = []
        for i, (file, mask) in enumerate(zip(split.files, masks, strict=True)):
            path = self._facts.store.paths.data_file(text, split.bucket, file)
            is_refused = file.file_name in refused or self._may_lack_partition_columns(file)
            if is_refused or (mask is not None and not self._budget.takes(file)):
                left.append(i)
                continue
            found = FileWithDeletedRows(path, file, None if mask is None else mask())
            (self._whole if found.vector is None else self._masked)[file.schema_id].append(found)
        return left

    def _may_lack_partition_columns(self, file: DataFileMeta) -> bool:
        """Return whether Paimon may have taken over the file from Hive, whose files have no partition columns.

        Such a file has the sequence numbers 0 to 0, and no statistics of these columns.
        """
        schema = self._facts.schema
        numbers = (file.min_sequence_number, file.max_sequence_number)
        if not schema.partition_keys or schema.is_primary_key_table or numbers != (0, 0):
            return False
        bounds = self._partition_bounds.of_values(file)
        return any(name not in bounds or bounds[name].null_count is None for name in schema.partition_keys)

    @cached_property
    def _partition_bounds(self) -> FileBounds:
        return FileBounds(self._facts.schema, self._facts.schemas, self._facts.schema.partition_keys)

    def division(self, python: Sequence[DataSplit]) -> Division:
        """Return the division. Files without rows to skip join the scan of the others, if there is one."""
        for schema_id, together in self._masked.items():
            alone: list[FileWithDeletedRows] = []
            for found in self._whole.pop(schema_id, []):
                (together if self._budget.has_unique_name(found.file) else alone).append(found)
            if alone:
                self._whole[schema_id] = alone
        whole = {i: [f.path for f in files] for i, files in self._whole.items()}
        return Division(whole, dict(self._masked), tuple(python))


def _is_state(split: DataSplit) -> bool:
    """Return whether the rows of a split are those of its files, one after the other."""
    return split.raw_convertible and split.content in (SplitContent.STATE, SplitContent.CHANGES)


def _are_few(split: DataSplit) -> bool:
    """Return whether indexes select so few rows that reading their pages is faster than reading the files."""
    if not split.selections:
        return False
    left = [
        file.row_count if selected is None else len(selected)
        for selected, file in zip(split.selections, split.files, strict=True)
    ]
    return sum(left) <= _MAX_SHARE_OF_ROWS * split.row_count


def _is_parquet(file: DataFileMeta) -> bool:
    return extension_of(file.file_name) == "parquet"


def _only(split: DataSplit, wanted: Sequence[int]) -> DataSplit:
    """Return a split with some files of a split whose files are read one after the other."""
    files = tuple(split.files[i] for i in wanted)
    return replace(
        split,
        files=files,
        deletion_files=tuple(split.deletion_files[i] for i in wanted) if split.deletion_files else (),
        selections=tuple(split.selections[i] for i in wanted) if split.selections else (),
    )


def read_native(
    spark: SparkSession,
    division: Division,
    plan: Plan,
    metadata: Mapping[str, str] | None = None,
    *,
    live: Predicate | None = None,
) -> DataFrame | None:
    """Return all files that Spark can read as one DataFrame with the columns of the plan; ``None`` if there are none.

    ``metadata`` are additional columns by name: fields of ``_metadata`` of Spark's reader. Rows that do not meet
    ``live`` may be superseded, and are left out. Conditions of the user are evaluated on no such row.
    """
    more = metadata or {}
    frames = []
    for i, paths in sorted(division.whole.items()):
        rows = _frame(spark, plan.schemas[i], paths, plan.fields, more)
        frames.append(rows if live is None else _live_rows(rows, plan, live))
    for i, files in sorted(division.with_deletions.items()):
        for scan in scans_of(files):
            rows = _frame(spark, plan.schemas[i], [file.path for file in scan], plan.fields, more, scan)
            frames.append(_live_rows(rows, plan, live))
    return reduce(lambda left, right: left.union(right), frames) if frames else None


def _live_rows(rows: DataFrame, plan: Plan, live: Predicate | None) -> DataFrame:
    """Return the rows that meet ``live``, behind a barrier.

    Spark passes no condition of the user below the barrier. The filter of the plan cannot fail, so its tests of shown
    columns are repeated there, and Spark's reader skips row groups for them.
    """
    shown = frozenset(field.name for field in plan.fields)
    filters = (part for part in conjuncts(plan.predicate) if columns_of(part) <= shown)
    tested = conjunction(tuple(dict.fromkeys((*conjuncts(live), *filters))))
    return behind_barrier(rows if tested is None else rows.where(condition(tested, plan.schema.fields)))


def _frame(
    spark: SparkSession,
    schema: TableSchema,
    paths: list[str],
    fields: Sequence[DataField],
    metadata: Mapping[str, str],
    with_deletions: Sequence[FileWithDeletedRows] = (),
) -> DataFrame:
    by_id = {f.id: f for f in schema.fields}
    present = [by_id[f.id] for f in fields if f.id in by_id]
    reader = spark.read.format(_READER).options(**_READER_OPTIONS).schema(frame_schema(present))
    with listing_in_driver(spark):
        rows = reader.load(list(map(literal_path, paths)))
    names = [field.name for field in present]
    if with_deletions:
        rows = without_deleted_rows(spark, rows, with_deletions, names)
    pairs = [(by_id.get(f.id), f) for f in fields]
    is_as_stored = all(source is not None and (source.name, source.type) == (f.name, f.type) for source, f in pairs)
    if is_as_stored and not metadata:
        return rows
    columns = ["*"] if is_as_stored else [_column(source, f) for source, f in pairs]
    return rows.select(*columns, *(metadata_member(rows, m, names).alias(name) for name, m in metadata.items()))


def literal_path(path: str) -> str:
    """Escape a path, because Spark interprets paths as patterns.

    >>> literal_path("/a[1]/{b}")
    '/a\\\\[1\\\\]/\\\\{b\\\\}'
    """
    return _PATTERN.sub(r"\\\g<0>", path)


def _column(source: DataField | None, field: DataField) -> Column:
    target = spark_type(field.type, field.name)
    if source is None:
        return F.lit(None).cast(target).alias(field.name)
    column = F.col(quoted(source.name))
    return (column if source.type == field.type else column.cast(target)).alias(field.name)


def _is_simple(schema: TableSchema, fields: Iterable[DataField]) -> bool:
    """Return whether every column has the wanted type in the file, or needs one safe cast, or is missing."""
    by_id = {f.id: f.type for f in schema.fields}
    return are_readable(schema.fields) and all(f.id not in by_id or _is_safe(by_id[f.id], f.type) for f in fields)


def _is_safe(source: DataType, target: DataType) -> bool:
    source, target = source.with_nullable(True), target.with_nullable(True)
    if source == target:
        return True
    if isinstance(source, NESTED) or isinstance(target, NESTED):
        return False
    match source, target:
        case (VarCharType(), VarCharType()):
            return source.length <= target.length
        case (DecimalType(), DecimalType()):
            return target.holds(source)
        case (FloatType(), DoubleType()):
            return True
        case IntegerType(), IntegerType():
            return source.bits <= target.bits
    return False
