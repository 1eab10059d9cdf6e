"""How long partitions live, and how one is marked as complete (Java ``NormalPartitionExpire``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.model.partition_time import check_formatter
from table_format.options.declare import Option
from table_format.options.values import Parser, choice, duration, integer, names, optional, verbatim

SUCCESS_FILE: Final = "success-file"


def _parse_formatter(value: str) -> str:
    check_formatter(value)
    return value


_formatter: Final = Parser("a pattern of y, u, M, d, H, m, s, S and quoted text, such as 'yyyyMMdd'", _parse_formatter)

EXPIRATION_TIME = Option(
    "partition.expiration-time",
    optional(duration),
    None,
    "Age from which a partition is dropped by expire_partitions. Commits do not drop partitions.",
)
EXPIRATION_STRATEGY = Option(
    "partition.expiration-strategy",
    choice("values-time", "update-time"),
    "values-time",
    "Whether the age of a partition is that of the time in its values, or of its youngest file.",
)
EXPIRATION_MAX_NUM = Option("partition.expiration-max-num", integer(1), 100, "Partitions that are dropped at most.")
EXPIRATION_BATCH_SIZE = Option(
    "partition.expiration-batch-size", optional(integer(1)), None, "Partitions dropped in one commit; all without."
)
TIMESTAMP_FORMATTER = Option(
    "partition.timestamp-formatter",
    optional(_formatter),
    None,
    "How times are written in partition values. Without it: yyyy-MM-dd, or yyyy-MM-dd HH:mm:ss.",
)
TIMESTAMP_PATTERN = Option(
    "partition.timestamp-pattern",
    optional(verbatim),
    None,
    "How a time is made of partition values, such as '$year-$month-$day $hour:00:00'; by default the first is one.",
)
MARK_DONE_ACTION = Option(
    "partition.mark-done-action",
    names,
    (SUCCESS_FILE,),
    "What mark_partition_done does: success-file writes a file _SUCCESS into the directory of the partition.",
    honoured=((SUCCESS_FILE,),),
)


@dataclass(frozen=True, slots=True)
class PartitionOptions:
    """Which partitions are dropped for their age, and how one is marked as complete."""

    expiration_time_ms: int | None = EXPIRATION_TIME.field()
    expiration_strategy: str = EXPIRATION_STRATEGY.field()
    expiration_max_num: int = EXPIRATION_MAX_NUM.field()
    expiration_batch_size: int | None = EXPIRATION_BATCH_SIZE.field()
    timestamp_formatter: str | None = TIMESTAMP_FORMATTER.field()
    timestamp_pattern: str | None = TIMESTAMP_PATTERN.field()
    mark_done_action: tuple[str, ...] = MARK_DONE_ACTION.field()
