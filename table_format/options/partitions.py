"""How long partitions live, and how one is marked as complete (Java ``NormalPartitionExpire``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.model.partition_time import check_formatter
from table_format.options.declare import Option
from table_format.options.values import Parser, boolean, choice, duration, integer, names, optional, verbatim

SUCCESS_FILE: Final = "success-file"


def _parse_formatter(value: str) -> str:
    check_formatter(value)
    return value


_formatter: Final = Parser(
    "a pattern of y, u, M, d, H, m, s, S and quoted text, such as 'yyyyMMdd'", _parse_formatter, edges=("yyyyMMdd",)
)

EXPIRATION_TIME = Option(
    "partition.expiration-time",
    optional(duration),
    None,
    "Age at which expire_partitions drops a partition. Commits do not drop partitions.",
)
EXPIRATION_STRATEGY = Option(
    "partition.expiration-strategy",
    choice("values-time", "update-time"),
    "values-time",
    "Whether the age of a partition is computed from its values or from its newest file. Values of type DATE and "
    "TIMESTAMP are times here; Apache Paimon keeps such partitions.",
)
EXPIRATION_MAX_NUM = Option("partition.expiration-max-num", integer(1), 100, "Maximum number of partitions to drop.")
EXPIRATION_BATCH_SIZE = Option(
    "partition.expiration-batch-size",
    optional(integer(1)),
    None,
    "Number of partitions to drop per commit; by default all.",
)
TIMESTAMP_FORMATTER = Option(
    "partition.timestamp-formatter",
    optional(_formatter),
    None,
    "Format of the times in partition values; by default yyyy-MM-dd or yyyy-MM-dd HH:mm:ss.",
)
TIMESTAMP_PATTERN = Option(
    "partition.timestamp-pattern",
    optional(verbatim),
    None,
    "How a time is composed from partition values, such as '$year-$month-$day $hour:00:00'; by default the first "
    "partition value is the time.",
)
MARK_DONE_ACTION = Option(
    "partition.mark-done-action",
    names,
    (SUCCESS_FILE,),
    "Actions of mark_partition_done: 'success-file' writes a file _SUCCESS into the directory of the partition.",
    honoured=((SUCCESS_FILE,),),
)

PARTITIONED_IN_METASTORE = Option(
    "metastore.partitioned-table",
    boolean,
    False,
    "Whether the partitions of the table are listed in a Hive metastore. Other catalogs refuse it.",
)


@dataclass(frozen=True, slots=True)
class PartitionOptions:
    """Which partitions expire, and how a partition is marked as complete."""

    expiration_time_ms: int | None = EXPIRATION_TIME.field()
    expiration_strategy: str = EXPIRATION_STRATEGY.field()
    expiration_max_num: int = EXPIRATION_MAX_NUM.field()
    expiration_batch_size: int | None = EXPIRATION_BATCH_SIZE.field()
    timestamp_formatter: str | None = TIMESTAMP_FORMATTER.field()
    timestamp_pattern: str | None = TIMESTAMP_PATTERN.field()
    mark_done_action: tuple[str, ...] = MARK_DONE_ACTION.field()
    in_metastore: bool = PARTITIONED_IN_METASTORE.field()
