"""Procedures that rewrite files: compaction, another number of buckets, indexes of files, statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidInputError
from table_format.kernels.sort_keys import OrderStrategy
from table_format.procedures.arguments import COUNT, NAMES, NUMBERS, OPTIONS, PARTITIONS, Argument, choice, required
from table_format.procedures.declare import TABLE, Call, Procedure, Row, done

_NO_ORDER: Final = "none"
_PARTITIONS: Final = Argument("partitions", PARTITIONS, "Only these partitions; all without.")


def _compact(call: Call) -> None:
    strategy, order_by = call["order_strategy"], call["order_by"]
    table = call.table(options=call["options"])
    if strategy is None or strategy == _NO_ORDER:
        if order_by is not None and strategy == _NO_ORDER:
            message = "procedure 'compact': argument 'order_by' needs an order_strategy other than 'none'"
            raise InvalidInputError(message)
        if order_by is None:
            full = call["compact_strategy"] == "full"
            call.operations.compact(table, full=full, partitions=call["partitions"], buckets=call["buckets"])
            return
    if order_by is None:
        message = f"procedure 'compact': order_strategy '{strategy}' needs the argument 'order_by'"
        raise InvalidInputError(message)
    if call["buckets"] is not None:
        message = "procedure 'compact': rows are put in order in all buckets of a partition; leave 'buckets' out"
        raise InvalidInputError(message)
    call.operations.sort_compact(
        table, order_by=order_by, order_strategy=strategy or OrderStrategy.ORDER, partitions=call["partitions"]
    )


COMPACT: Final = Procedure(
    "compact",
    "Merge the files of a table, or put its rows in order.",
    (
        TABLE,
        _PARTITIONS,
        Argument("compact_strategy", choice("full", "minor"), "Everything, or what is due only.", default="full"),
        Argument("order_strategy", choice(*OrderStrategy, _NO_ORDER), "How rows are put in order; 'order' by default."),
        Argument("order_by", NAMES, "Columns to put the rows in order by."),
        Argument("options", OPTIONS, "Dynamic options of the table."),
        Argument("buckets", NUMBERS, "Only these buckets; all without."),
    ),
    done(_compact),
)
RESCALE: Final = Procedure(
    "rescale",
    "Give partitions another number of buckets; without partitions the option of the table changes too.",
    (TABLE, Argument("bucket_num", COUNT, "Buckets of each partition; without it the table's option."), _PARTITIONS),
    done(lambda call: call.operations.rescale(call.table(), call["bucket_num"], partitions=call["partitions"])),
)


def _rewrite_file_index(call: Call) -> Iterable[Row]:
    report = call.operations.rewrite_file_index(call.table(), partitions=call["partitions"])
    return [(len(report.partitions), report.rewritten)]


REWRITE_FILE_INDEX: Final = Procedure(
    "rewrite_file_index",
    "Give data files the indexes that the options of the table declare now.",
    (TABLE, _PARTITIONS),
    _rewrite_file_index,
    pa.schema([("written_partitions", pa.int32()), ("written_indexes", pa.int32())]),
)
ANALYZE: Final = Procedure(
    "analyze",
    "Count the rows of a table, and for columns distinct values, nulls, bounds and lengths.",
    (TABLE, Argument("columns", NAMES, "Columns to look at.")),
    done(lambda call: call.table().analyze(call["columns"])),
)
DROP_PARTITION: Final = Procedure(
    "drop_partition",
    "Remove all rows of partitions.",
    (TABLE, required("partitions", PARTITIONS, "The partitions, by all or some of their columns.")),
    done(lambda call: call.table().drop_partitions(call["partitions"])),
)
