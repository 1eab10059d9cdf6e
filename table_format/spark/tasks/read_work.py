"""The work of Spark tasks that read splits.

A task gets picklable facts and answers with Arrow batches. It imports nothing that only writers need: each of Spark's
Python processes imports what its tasks import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import pyarrow as pa

from table_format.metastore.references.expired_reads import explaining_expiry_of_rows
from table_format.model.arrow_calls import map_
from table_format.model.split import DataSplit
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.worker import Batches
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_split


def split_reader(
    facts: TableFacts, plan: Plan, groups: TaskInputs[Sequence[DataSplit]], *, zone: str
) -> Callable[[Batches], Batches]:
    """Read the groups of splits with the given numbers. The rows have exactly the columns of the plan."""
    schemas, schema, fields, pruning = dict(plan.schemas), plan.schema, plan.fields, plan.pruning

    def read(numbers: Batches) -> Batches:
        for split in chain.from_iterable(groups[number] for number in numbers_in(numbers)):
            rows = read_split(facts.store, schemas, schema, facts.options, split, fields, pruning)
            for found in explaining_expiry_of_rows(facts.store, split, rows):
                yield for_spark(found, zone=zone)

    return read


def for_spark(batch: pa.RecordBatch, *, zone: str) -> pa.RecordBatch:
    """Convert times to microseconds, as Spark has them, and instants to the time zone of the session."""
    columns = [_for_spark(column, zone) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _for_spark(column: pa.Array, zone: str) -> pa.Array:
    target = _spark_arrow_type(column.type, zone)
    return column if target.equals(column.type) else column.cast(target)


def _spark_arrow_type(arrow: pa.DataType, zone: str) -> pa.DataType:
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", tz=None if arrow.tz is None else zone)
    if pa.types.is_list(arrow):
        return pa.list_(arrow.value_field.with_type(_spark_arrow_type(arrow.value_type, zone)))
    if pa.types.is_map(arrow):
        item = arrow.item_field.with_type(_spark_arrow_type(arrow.item_type, zone))
        return map_(arrow.key_field.with_type(_spark_arrow_type(arrow.key_type, zone)), item)
    if pa.types.is_struct(arrow):
        return pa.struct([f.with_type(_spark_arrow_type(f.type, zone)) for f in arrow])
    return arrow
