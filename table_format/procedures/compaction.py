"""Procedures for compaction, rescaling, file indexes, statistics and dropping partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidInputError
from table_format.kernels.sort_keys import OrderStrategy
from table_format.procedures.arguments import COUNT, NAMES, NUMBERS, OPTIONS, PARTITIONS, Argument, choice, required
from table_format.procedures.declare import TABLE, Call, Procedure, Row, done

_NO_ORDER: Final = "none"
_PARTITIONS: Final = Argument("partitions", PARTITIONS, "Only these partitions; by default all.")


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
        message = "procedure 'compact': sorting covers all buckets of a partition; remove 'buckets'"
        raise InvalidInputError(message)
    call.operations.sort_compact(
        table, order_by=order_by, order_strategy=strategy or OrderStrategy.ORDER, partitions=call["partitions"]
    )


COMPACT: Final = Procedure(
    "compact",
    "Merge the files of a table, or sort its rows.",
    (
        TABLE,
        _PARTITIONS,
        Argument(
            "compact_strategy", choice("full", "minor"), "Compact everything, or only what is due.", default="full"
        ),
        Argument("order_strategy", choice(*OrderStrategy, _NO_ORDER), "How rows are sorted; by default 'order'."),
        Argument("order_by", NAMES, "Columns to sort the rows by."),
        Argument("options", OPTIONS, "Dynamic options of the table."),
        Argument("buckets", NUMBERS, "Only these buckets; by default all."),
    ),
    done(_compact),
)
RESCALE: Final = Procedure(
    "rescale",
    "Change the number of buckets of partitions. Without partitions, also change the option of the table.",
    (
        TABLE,
        Argument("bucket_num", COUNT, "Number of buckets per partition; by default the table's option."),
        _PARTITIONS,
    ),
    done(lambda call: call.operations.rescale(call.table(), call["bucket_num"], partitions=call["partitions"])),
)


def _rewrite_file_index(call: Call) -> Iterable[Row]:
    report = call.operations.rewrite_file_index(call.table(), partitions=call["partitions"])
    return [(len(report.partitions), report.rewritten)]


REWRITE_FILE_INDEX: Final = Procedure(
    "rewrite_file_index",
    "Add the file indexes that the table options currently declare to data files.",
    (TABLE, _PARTITIONS),
    _rewrite_file_index,
    pa.schema([("written_partitions", pa.int32()), ("written_indexes", pa.int32())]),
)
ANALYZE: Final = Procedure(
    "analyze",
    "Compute the row count of a table, and for columns the distinct values, nulls, bounds and lengths.",
    (TABLE, Argument("columns", NAMES, "Columns to analyze.")),
    done(lambda call: call.table().analyze(call["columns"])),
)
DROP_PARTITION: Final = Procedure(
    "drop_partition",
    "Delete all rows of partitions.",
    (TABLE, required("partitions", PARTITIONS, "The partitions, by some or all partition columns.")),
    done(lambda call: call.table().drop_partitions(call["partitions"])),
)
