"""Files that need no merge, read by Spark's own vectorised Parquet reader with its pruning and push-down.

The schema and the file list are given, so that Spark infers nothing: neither types nor partition columns from paths.
Columns are matched by the names they have in the file's own schema and cast to the schema that is read; where that
needs more than a safe cast, the files go through the library's reader instead.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from table_format.io.paths import extension_of
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit
from table_format.model.types import (
    NESTED,
    BigIntType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from table_format.spark.names import quoted
from table_format.spark.types import spark_schema, spark_type
from table_format.table.facts import TableFacts
from table_format.table.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")

_WIDENING: Final = (TinyIntType, SmallIntType, IntType, BigIntType)


@dataclass(frozen=True, slots=True)
class Division:
    """Splits by who reads them: ``native`` maps a schema id to full file paths, ``python`` holds the rest."""

    native: dict[int, list[str]]
    python: tuple[DataSplit, ...]


def divide(plan: Plan, facts: TableFacts) -> Division:
    """Decide for each split whether Spark can read it by itself."""
    native: dict[int, list[str]] = defaultdict(list)
    python: list[DataSplit] = []
    simple = {i: _is_simple(schema, plan.fields) for i, schema in plan.schemas.items()}
    for split in plan.splits:
        readable = all(simple[file.schema_id] and extension_of(file.file_name) == "parquet" for file in split.files)
        if not (split.raw_convertible and readable):
            python.append(split)
            continue
        text = facts.partitions.text(split.partition)
        whole, marked = apart(split)
        for file in whole:
            native[file.schema_id].append(facts.store.paths.data_file(text, split.bucket, file))
        if marked is not None:
            python.append(marked)
    return Division(dict(native), tuple(python))


def apart(split: DataSplit) -> tuple[tuple[DataFileMeta, ...], DataSplit | None]:
    """The files of a split that have all their rows, and a split of those that have deletion vectors, if any has.

    For splits whose files are read one after the other; Spark's own reader knows nothing of deletion vectors.
    """
    if not any(split.deletion_files):
        return split.files, None
    pairs = list(zip(split.files, split.deletion_files, strict=True))
    marked = [(file, found) for file, found in pairs if found is not None]
    files, deletion_files = zip(*marked, strict=True)
    rest = replace(split, files=files, deletion_files=deletion_files)
    return tuple(file for file, found in pairs if found is None), rest


def read_native(spark: SparkSession, native: dict[int, list[str]], plan: Plan) -> DataFrame | None:
    """All natively readable files as one frame with the plan's columns; ``None`` when there are none."""
    frames = [_frame(spark, plan.schemas[i], paths, plan.fields) for i, paths in sorted(native.items())]
    return reduce(lambda left, right: left.unionByName(right), frames) if frames else None


def _frame(spark: SparkSession, schema: TableSchema, paths: list[str], fields: Sequence[DataField]) -> DataFrame:
    by_id = {f.id: f for f in schema.fields}
    present = [by_id[f.id] for f in fields if f.id in by_id]
    rows = spark.read.schema(spark_schema([nullable(f) for f in present])).parquet(*map(literal_path, paths))
    return rows.select(*(_column(by_id.get(f.id), f) for f in fields))


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
            whole = target.precision - target.scale >= source.precision - source.scale
            return whole and target.scale >= source.scale
        case (FloatType(), DoubleType()):
            return True
        case _:
            pass
    if isinstance(source, _WIDENING) and isinstance(target, _WIDENING):
        return _WIDENING.index(type(source)) <= _WIDENING.index(type(target))
    return False
