"""How rows are buffered before they are written to files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from table_format.limits import MIB
from table_format.options.declare import Option
from table_format.options.values import MAX_LONG, boolean, one_of, size


class Exchange(StrEnum):
    """How rows reach the tasks of their buckets on Spark."""

    AUTO = "auto"
    SHUFFLE = "shuffle"
    STORAGE = "storage"
    NONE = "none"


BUFFER_SIZE = Option(
    "write-buffer-size",
    replace(size(1), edges=("1 b", "192 kb", f"{3072 * MIB} b", f"{MAX_LONG} b")),
    256 * MIB,
    "Size of the rows that are buffered in memory before they are sorted and written. Apache Paimon needs at least 3 "
    "pages ('page-size') for a table with a primary key, and 6 if keys move between partitions.",
)

SPARK_EXCHANGE = Option(
    "spark.write.exchange",
    one_of(Exchange),
    Exchange.AUTO,
    "How rows of a table with fixed buckets reach the tasks of their buckets on Spark. 'shuffle' uses Spark's shuffle. "
    "With 'storage', tasks write rows in columns to temporary files in the table's directory 'exchange', and only the "
    "positions are shuffled. With 'none', each task writes its own files for each bucket, with its own range of "
    "sequence numbers. This is possible only for 'write-only' tables with a primary key and without deletion vectors, "
    "and works best with few tasks, because a compaction has to merge the files of each task. 'auto' uses 'storage' if "
    "several tasks write a table in a file system, and 'shuffle' otherwise.",
)

MERGE_SCHEMA = Option(
    "write.merge-schema",
    boolean,
    False,
    "A write on Spark first changes the schema of the table to fit the rows: new columns are added, and types are "
    "widened. Columns that the rows lack are null.",
)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How much a writer buffers, in bytes, and how Spark writes."""

    buffer_size: int = BUFFER_SIZE.field()
    spark_exchange: Exchange = SPARK_EXCHANGE.field()  # noqa: RUF009 - a field, and its default is frozen
    merge_schema: bool = MERGE_SCHEMA.field()
