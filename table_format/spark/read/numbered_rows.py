"""Reads the rows of a table without a primary key, each with its file name and its position in the file.

Spark's own reader returns both (ADR 10). This library reads the files that Spark's reader cannot read. Both skip rows
that deletion vectors mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_format.formats.data_file_reader import POSITION as READ_POSITION
from table_format.indexes.deletion_vectors import vectors_of
from table_format.metastore.references.expired_reads import explaining_expiry_of_rows, explaining_expiry_of_splits
from table_format.model.predicate import Predicate
from table_format.model.split import DataSplit
from table_format.model.types import BigIntType, DataField, VarCharType
from table_format.spark.names import quoted
from table_format.spark.read.conditions import condition
from table_format.spark.read.expired_files import planned
from table_format.spark.read.frames import no_rows
from table_format.spark.read.spark_parquet import Division, divide, read_native
from table_format.spark.read.task_groups import grouped
from table_format.spark.tasks.read_work import for_spark
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.types import frame_schema
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE: Final = "__dml_file"
POSITION: Final = "__dml_position"

NUMBERS: Final = (DataField(-1, FILE, VarCharType()), DataField(-2, POSITION, BigIntType()))
"""The columns with the name of the data file of a row and the position in it. Positions count deleted rows."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""File names that are the same in a path and in a URL. Spark returns URLs."""


def numbered_frame(spark: SparkSession, facts: TableFacts, plan: Plan, *, tested: Predicate | None) -> DataFrame:
    """Return the rows of a plan with its columns and ``NUMBERS``.

    Rows that do not meet ``tested``, or the filter of the plan, may be left out.

    Raises:
        SnapshotExpired: the snapshot has expired since it was planned.
        CorruptionError: a deletion vector is missing or damaged, or does not match its data file.
        UnsupportedFeature: Spark does not have the type of a column.
    """
    with explaining_expiry_of_splits(facts.store, plan.splits):
        division = divide(plan, facts) if _are_named_plainly(plan) else Division({}, {}, tuple(plan.splits))
    planned.note(facts.store, plan)
    native = read_native(spark, division, plan, {FILE: "file_name", POSITION: "row_index"})
    if native is not None and tested is not None:
        native = native.where(condition(tested, plan.schema.fields))
    if native is not None and not division.python:
        return native
    read = _read_by_tasks(spark, facts, plan, division.python)
    return read if native is None else native.unionByName(read)


def _are_named_plainly(plan: Plan) -> bool:
    return all(_PLAIN_NAME.fullmatch(file.file_name) for split in plan.splits for file in split.files)


def _read_by_tasks(spark: SparkSession, facts: TableFacts, plan: Plan, splits: Sequence[DataSplit]) -> DataFrame:
    schema = frame_schema((*plan.fields, *NUMBERS))
    if not splits:
        return no_rows(spark, schema)
    groups = TaskInputs.of(grouped(spark, splits, facts.options.scan))
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    read = _numbered_reader(facts, plan.fields, plan.predicate, groups, zone=zone)
    frame = map_in_workers(spark.range(0, len(groups), 1, len(groups)), read, schema)
    return frame.select(*(quoted(name) for name in schema.names))


def _numbered_reader(
    facts: TableFacts,
    fields: Sequence[DataField],
    predicate: Predicate | None,
    groups: TaskInputs[Sequence[DataSplit]],
    *,
    zone: str,
) -> Callable[[Batches], Batches]:
    """Return a function that reads the groups of splits with the given numbers."""

    def read(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            for split in groups[number]:
                rows = _rows_of(facts, fields, predicate, split)
                for found in explaining_expiry_of_rows(facts.store, split, rows):
                    yield for_spark(found, zone=zone)

    return read


def _rows_of(facts: TableFacts, fields: Sequence[DataField], predicate: Predicate | None, split: DataSplit) -> Batches:
    bucket = facts.bucket_files(split.partition, split.bucket, split.total_buckets)
    vectors = vectors_of(facts.store.io, split.files, split.deletion_files)
    for file in split.files:
        batches = bucket.reader().read(
            split.partition,
            split.bucket,
            file,
            fields,
            predicate=predicate,
            deleted=None if vectors is None else vectors.of(file),
            with_positions=True,
        )
        for batch in batches:
            positions = batch.column(batch.schema.get_field_index(READ_POSITION))
            names = pa.repeat(pa.scalar(file.file_name), batch.num_rows)
            columns = [*(batch.column(f.name) for f in fields), names, positions.cast(pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, names=[*(f.name for f in fields), FILE, POSITION])
