"""Procedures for compaction, rescaling, file indexes, statistics and dropping partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from table_format.catalog.data_tables import data_tables
from table_format.counted import counted
from table_format.errors import InvalidInputError, TableFormatError
from table_format.kernels.sort_keys import OrderStrategy
from table_format.procedures.arguments import (
    COUNT,
    DURATION,
    NAMES,
    NUMBERS,
    OPTIONS,
    PARTITIONS,
    PATTERN,
    TEXT,
    Argument,
    choice,
    required,
)
from table_format.procedures.declare import TABLE, Call, Procedure, Row, done
from table_format.procedures.operations import Partitions
from table_format.table.table import Table
from table_format.table.upkeep.chosen_partitions import idle_partitions, partitions_where

_NO_ORDER: Final = "none"
_PARTITIONS: Final = Argument("partitions", PARTITIONS, "Only these partitions; by default all.")
_WHERE: Final = Argument(
    "where", TEXT, "Only the partitions that match a condition such as 'dt > 10 and hh < 20'; instead of partitions."
)
_OPTIONS: Final = Argument("options", OPTIONS, "Dynamic options of the table.")


def _chosen(call: Call, table: Table) -> Partitions | None:
    """Return the partitions that the arguments choose; ``None`` for all.

    Raises:
        InvalidInputError: several arguments choose partitions.
    """
    names = ("partitions", "where", "partition_idle_time")
    given = [name for name in names if call.arguments.get(name) is not None]
    if len(given) > 1:
        message = f"procedure '{call.procedure}': {' and '.join(given)} both choose partitions; use one of them"
        raise InvalidInputError(message)
    if "where" in given:
        return partitions_where(table, call["where"])
    if "partition_idle_time" in given:
        return idle_partitions(table, call["partition_idle_time"])
    partitions: Sequence[Mapping[str, object]] | None = call["partitions"]
    return partitions


def _compact(call: Call) -> None:
    strategy, order_by = call["order_strategy"], call["order_by"]
    if order_by is None and strategy not in (None, _NO_ORDER):
        message = f"procedure 'compact': order_strategy '{strategy}' needs the argument 'order_by'"
        raise InvalidInputError(message)
    if order_by is not None:
        _check_order(call)
    table = call.table(options=call["options"])
    partitions = _chosen(call, table)
    if partitions is not None and not partitions:
        return
    if order_by is None:
        full = call["compact_strategy"] == "full"
        call.operations.compact(table, full=full, partitions=partitions, buckets=call["buckets"])
        return
    call.operations.sort_compact(
        table, order_by=order_by, order_strategy=strategy or OrderStrategy.ORDER, partitions=partitions
    )


def _check_order(call: Call) -> None:
    if call["order_strategy"] == _NO_ORDER:
        message = "procedure 'compact': argument 'order_by' needs an order_strategy other than 'none'"
        raise InvalidInputError(message)
    if call["buckets"] is not None:
        message = "procedure 'compact': sorting covers all buckets of a partition; remove 'buckets'"
        raise InvalidInputError(message)
    if call["partition_idle_time"] is not None:
        message = "procedure 'compact': 'partition_idle_time' chooses partitions to merge, not to sort; use 'where'"
        raise InvalidInputError(message)


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
        _WHERE,
        _OPTIONS,
        Argument("partition_idle_time", DURATION, "Only partitions to which nobody has written for this time."),
        Argument("buckets", NUMBERS, "Only these buckets; by default all."),
    ),
    done(_compact),
)


def _compact_database(call: Call) -> Iterable[Row]:
    names = list(_listed_tables(call))
    failed = []
    for name in names:
        try:
            table = call.table(name, call["options"])
            call.operations.compact(table, full=True, partitions=None, buckets=None)
        except TableFormatError as error:
            failed.append(f"{name}: {error}")
    if failed:
        message = f"procedure 'compact_database': {len(failed)} of {counted(len(names), 'table')} failed: "
        raise InvalidInputError(message + "; ".join(failed))
    return [(f"Compact database finished. Success: {len(names)}, Failed: 0",)]


def _listed_tables(call: Call) -> Iterator[str]:
    databases, included = call["including_databases"], call["including_tables"]
    excluded = call["excluding_tables"]
    for database in call.catalog.list_databases():
        if databases is not None and not databases.fullmatch(database):
            continue
        for name in data_tables(call.catalog, database):
            is_wanted = included is None or included.fullmatch(name)
            if is_wanted and not (excluded is not None and excluded.fullmatch(name)):
                yield name


COMPACT_DATABASE: Final = Procedure(
    "compact_database",
    "Compact all tables of databases, one after the other. A table that fails does not stop the others.",
    (
        Argument("including_databases", PATTERN, "Only databases whose whole name matches; by default all."),
        Argument("including_tables", PATTERN, "Only tables whose whole name, as database.table, matches."),
        Argument("excluding_tables", PATTERN, "Except tables whose whole name, as database.table, matches."),
        Argument("options", OPTIONS, "Dynamic options of the tables."),
    ),
    _compact_database,
    pa.schema([pa.field("result", pa.string())]),
)


def _rescale(call: Call) -> None:
    table = call.table()
    partitions = _chosen(call, table)
    if partitions is None or partitions:
        call.operations.rescale(table, call["bucket_num"], partitions=partitions)


RESCALE: Final = Procedure(
    "rescale",
    "Change the number of buckets of partitions. Without partitions, also change the option of the table.",
    (
        TABLE,
        Argument("bucket_num", COUNT, "Number of buckets per partition; by default the table's option."),
        _PARTITIONS,
        _WHERE,
    ),
    done(_rescale),
)


def _rewrite_file_index(call: Call) -> Iterable[Row]:
    table = call.table()
    partitions = _chosen(call, table)
    if partitions is not None and not partitions:
        return [(0, 0)]
    report = call.operations.rewrite_file_index(table, partitions=partitions)
    return [(len(report.partitions), report.rewritten)]


REWRITE_FILE_INDEX: Final = Procedure(
    "rewrite_file_index",
    "Add the file indexes that the table options currently declare to data files.",
    (TABLE, _PARTITIONS, _WHERE),
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
