"""Files that need no merge, read by Spark's own vectorised Parquet reader with its pruning and push-down.

The schema and the file list are given, so that Spark infers nothing: neither types nor partition columns from paths.
Columns are matched by the names they have in the file's own schema and cast to the schema that is read; where that
needs more than a safe cast, the files go through the library's reader instead. Rows that deletion vectors mark are left
out by Spark too: see ``read/deletion_vectors.py``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from table_format.indexes.deletion_vectors import vectors_of
from table_format.io.paths import extension_of
from table_format.model.data_file import DataFileMeta
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
from table_format.spark.names import quoted
from table_format.spark.read.deletion_vectors import (
    DeletionVectorBudget,
    FileWithDeletedRows,
    scans_of,
    without_deleted_rows,
)
from table_format.spark.types import spark_schema, spark_type
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")

_MAX_SHARE_OF_ROWS: Final = 0.1
"""Rows that are selected by file indexes; where there are more, Spark's own reader tests all of them sooner."""


@dataclass(frozen=True, slots=True)
class Division:
    """Splits by who reads them: Spark reads the files of ``whole`` and ``with_deletions``, the library ``python``.

    The files are given by schema id.
    """

    whole: dict[int, list[str]]
    """Full paths of files whose rows are all there."""
    with_deletions: dict[int, list[FileWithDeletedRows]]
    """Files some of whose rows are deleted, and those read in one scan with them: a union of two scans costs more."""
    python: tuple[DataSplit, ...]


def divide(plan: Plan, facts: TableFacts) -> Division:
    """Decide for each file whether Spark can read it by itself; deletion vectors are read for that.

    Raises:
        CorruptionError: a deletion vector is missing or damaged, or does not fit its data file.
    """
    whole: dict[int, list[FileWithDeletedRows]] = defaultdict(list)
    with_deletions: dict[int, list[FileWithDeletedRows]] = defaultdict(list)
    python: list[DataSplit] = []
    simple = {i: _is_simple(schema, plan.fields) for i, schema in plan.schemas.items()}
    budget = DeletionVectorBudget()
    for split in plan.splits:
        if _are_few(split) or not (
            _is_state(split) and all(simple[f.schema_id] and _is_parquet(f) for f in split.files)
        ):
            python.append(split)
            continue
        text = facts.partitions.text(split.partition)
        vectors = vectors_of(facts.store.io, split.files, split.deletion_files)
        left: list[int] = []
        for i, file in enumerate(split.files):
            path = facts.store.paths.data_file(text, split.bucket, file)
            if vectors is None or not split.deletion_files[i]:
                whole[file.schema_id].append(FileWithDeletedRows(path, file, None))
            elif budget.takes(file):
                found = FileWithDeletedRows(path, file, vectors.of(file))
                (whole if found.vector is None else with_deletions)[file.schema_id].append(found)
            else:
                left.append(i)
        if left:
            python.append(_only(split, left))
    for schema_id, together in with_deletions.items():
        alone: list[FileWithDeletedRows] = []
        for found in whole.pop(schema_id, []):
            (together if budget.has_unique_name(found.file) else alone).append(found)
        if alone:
            whole[schema_id] = alone
    return Division({i: [f.path for f in files] for i, files in whole.items()}, dict(with_deletions), tuple(python))


def _is_state(split: DataSplit) -> bool:
    """Whether the rows of a split are those of its files, one after the other."""
    return split.raw_convertible and split.content in (SplitContent.STATE, SplitContent.CHANGES)


def _are_few(split: DataSplit) -> bool:
    """Whether indexes leave so few rows of a split that reading their pages is sooner done than reading the files."""
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
    """Some files of a split, whose files are read one after the other."""
    files = tuple(split.files[i] for i in wanted)
    return replace(
        split,
        files=files,
        deletion_files=tuple(split.deletion_files[i] for i in wanted),
        selections=tuple(split.selections[i] for i in wanted) if split.selections else (),
    )


def read_native(spark: SparkSession, division: Division, plan: Plan) -> DataFrame | None:
    """All natively readable files as one frame with the plan's columns; ``None`` when there are none."""
    frames = [_frame(spark, plan.schemas[i], paths, plan.fields) for i, paths in sorted(division.whole.items())]
    frames += [
        _frame(spark, plan.schemas[i], [file.path for file in scan], plan.fields, scan)
        for i, files in sorted(division.with_deletions.items())
        for scan in scans_of(files)
    ]
    return reduce(lambda left, right: left.unionByName(right), frames) if frames else None


def _frame(
    spark: SparkSession,
    schema: TableSchema,
    paths: list[str],
    fields: Sequence[DataField],
    with_deletions: Sequence[FileWithDeletedRows] = (),
) -> DataFrame:
    by_id = {f.id: f for f in schema.fields}
    present = [by_id[f.id] for f in fields if f.id in by_id]
    rows = spark.read.schema(spark_schema([nullable(f) for f in present])).parquet(*map(literal_path, paths))
    if with_deletions:
        rows = without_deleted_rows(spark, rows, with_deletions)
    pairs = [(by_id.get(f.id), f) for f in fields]
    if all(source is not None and (source.name, source.type) == (f.name, f.type) for source, f in pairs):
        # A name costs less than a column: each of those is several calls of the JVM.
        return rows.select(*(quoted(f.name) for f in fields))
    return rows.select(*(_column(source, f) for source, f in pairs))


def literal_path(path: str) -> str:
    """A path that Spark, which takes paths for patterns, finds nothing else by.

    >>> literal_path("/a[1]/{b}")
    '/a\\\\[1\\\\]/\\\\{b\\\\}'
    """
    return _PATTERN.sub(r"\\\g<0>", path)


def nullable(field: DataField) -> DataField:
    """The field with nulls allowed."""
    return DataField(field.id, field.name, field.type.with_nullable(True))


def _column(source: DataField | None, field: DataField) -> Column:
    target = spark_type(field.type, field.name)
    if source is None:
        return F.lit(None).cast(target).alias(field.name)
    column = F.col(quoted(source.name))
    return (column if source.type == field.type else column.cast(target)).alias(field.name)


def _is_simple(schema: TableSchema, fields: Iterable[DataField]) -> bool:
    """Whether every column is in the file as it is wanted, or one safe cast away, or missing."""
    by_id = {f.id: f.type for f in schema.fields}
    return all(f.id not in by_id or _is_safe(by_id[f.id], f.type) for f in fields)


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
