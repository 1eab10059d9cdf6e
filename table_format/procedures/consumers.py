"""Procedures on consumers."""

from __future__ import annotations

from typing import Final

from table_format.procedures.arguments import PATTERN, TEXT, WHOLE, Argument, required
from table_format.procedures.declare import TABLE, Call, Procedure, done


def _reset(call: Call) -> None:
    table, next_snapshot_id = call.table(), call["nextSnapshotId"]
    if next_snapshot_id is None:
        table.delete_consumer(call["consumerId"])
    else:
        table.reset_consumer(call["consumerId"], next_snapshot_id)


def _clear(call: Call) -> None:
    table, including, excluding = call.table(), call["includingConsumers"], call["excludingConsumers"]
    for name in table.consumers():
        if (including is None or including.fullmatch(name)) and not (excluding and excluding.fullmatch(name)):
            table.delete_consumer(name)


RESET_CONSUMER: Final = Procedure(
    "reset_consumer",
    "Set the next snapshot of a consumer, or delete the consumer.",
    (
        TABLE,
        required("consumerId", TEXT, "The name of the consumer."),
        Argument(
            "nextSnapshotId", WHOLE, "The snapshot that the consumer reads next; without it, the consumer is deleted."
        ),
    ),
    done(_reset),
)
CLEAR_CONSUMERS: Final = Procedure(
    "clear_consumers",
    "Delete consumers.",
    (
        TABLE,
        Argument("includingConsumers", PATTERN, "Only consumers whose whole name matches; by default all."),
        Argument("excludingConsumers", PATTERN, "Except consumers whose whole name matches."),
    ),
    done(_clear),
)
