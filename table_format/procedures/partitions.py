"""Procedures on partitions: dropping old ones, and marking complete ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.procedures.arguments import (
    COUNT,
    DURATION,
    FLAG,
    OPTIONS,
    PARTITIONS,
    TEXT,
    Argument,
    choice,
    required,
)
from table_format.procedures.declare import TABLE, Call, Procedure, Row, done

_NOTHING: Final = "No expired partitions."


def _expire_partitions(call: Call) -> Iterable[Row]:
    report = call.table(options=call["options"]).expire_partitions(
        dry_run=call["dry_run"],
        expiration_time_ms=call["expiration_time"],
        strategy=call["expire_strategy"],
        timestamp_formatter=call["timestamp_formatter"],
        timestamp_pattern=call["timestamp_pattern"],
        max_num=call["max_expires"],
    )
    shown = (", ".join(f"{name}={value}" for name, value in found.spec.items()) for found in report.partitions)
    return [(text,) for text in shown] or [(_NOTHING,)]


EXPIRE_PARTITIONS: Final = Procedure(
    "expire_partitions",
    "Drop the partitions that are older than 'partition.expiration-time'.",
    (
        TABLE,
        Argument("expiration_time", DURATION, "Age at which a partition is dropped; by default the table's option."),
        Argument("timestamp_formatter", TEXT, "Format of the times in partition values, such as 'yyyyMMdd'."),
        Argument("timestamp_pattern", TEXT, "How a time is composed from partition values, such as '$dt $hour:00:00'."),
        Argument("expire_strategy", choice("values-time", "update-time"), "How the age of a partition is determined."),
        Argument("max_expires", COUNT, "Maximum number to delete."),
        Argument("options", OPTIONS, "Dynamic options of the table."),
        Argument("dry_run", FLAG, "Only report what would be dropped.", default=False),
    ),
    _expire_partitions,
    pa.schema([pa.field("expired_partitions", pa.string())]),
)
MARK_PARTITION_DONE: Final = Procedure(
    "mark_partition_done",
    "Mark partitions as complete, according to 'partition.mark-done-action'.",
    (
        TABLE,
        required("partitions", PARTITIONS, "The partitions, by all of their columns."),
        Argument("allow_empty", FLAG, "Whether a partition may have no rows.", default=False),
    ),
    done(lambda call: call.table().mark_partitions_done(call["partitions"], allow_empty=call["allow_empty"])),
)
