"""A DataFrame into a table: shuffled by partition and bucket, written inside the tasks, committed once.

Data files are made by the tasks; the driver gets their metadata alone. Files of a task that failed or ran twice are in
no commit, and are left to the cleaning of orphans.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType

from table_format.codecs.commit_message import decode_messages
from table_format.metastore.partitions import PartitionSpec
from table_format.model.commit import CommitMessage
from table_format.model.schema import TableSchema
from table_format.spark.conditions import literal
from table_format.spark.tasks import MESSAGES_DDL, bucket_function, bucket_writer
from table_format.table.facts import TableFacts
from table_format.table.validate import RowRules

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TARGET: Final = "__task__"


def write_frame(
    frame: DataFrame, facts: TableFacts, *, replacing: bool = False, parallelism: int | None = None
) -> tuple[CommitMessage, ...]:
    """Write the rows of a frame to files and return the messages that make them visible.

    ``parallelism`` is the number of writing tasks; by default one for each bucket of an unpartitioned table, and the
    session's number of shuffle partitions for a partitioned one.

    Raises:
        InvalidData: the columns are not those of the table.
    """
    RowRules(facts.schema, facts.options.merge).check_columns(frame.columns)
    routed = _routed(frame, facts, parallelism)
    write = bucket_writer(facts, replacing=replacing)
    rows = routed.mapInArrow(write, MESSAGES_DDL).collect()
    return tuple(message for row in rows for message in decode_messages(bytes(row.messages)))


def with_constants(frame: DataFrame, schema: TableSchema, spec: PartitionSpec) -> DataFrame:
    """The frame with those partition columns it lacks, which all have the values of the spec."""
    for name, value in spec.items():
        if name not in frame.columns:
            frame = frame.withColumn(name, literal(value, schema.field(name).type))
    return frame


def _routed(frame: DataFrame, facts: TableFacts, parallelism: int | None) -> DataFrame:
    """The rows of one bucket of one partition all in one task; an append table without buckets stays as it is."""
    buckets = facts.options.bucket.count
    if buckets < 1:
        return frame if parallelism is None else frame.repartition(parallelism)
    target: Column = _bucket(facts, buckets)
    tasks = parallelism or buckets
    if facts.schema.partition_keys:
        # As many as any other shuffle of the session has: each task writes several partitions and buckets.
        tasks = parallelism or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or buckets)
        keys = [_quoted(key) for key in facts.schema.partition_keys]
        target = F.hash(*keys) + target
    if tasks == 1:
        return frame.coalesce(1)
    numbered = frame.withColumn(_TARGET, F.pmod(target, F.lit(tasks)).cast("int"))
    return numbered.repartitionById(tasks, _TARGET).drop(_TARGET)


def _bucket(facts: TableFacts, buckets: int) -> Column:
    fields = facts.schema.select(facts.schema.bucket_keys)
    function: Callable[..., Column] = arrow_udf(bucket_function(fields, buckets), IntegerType())
    return function(*(_quoted(f.name) for f in fields))


def _quoted(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
