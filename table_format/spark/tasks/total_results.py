"""The result of an aggregating task: totals by group as columns, or the error that stopped it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

import pyarrow as pa

from table_format.errors import TableFormatError
from table_format.kernels.totals import ColumnTotals, GroupTotals, Wanted
from table_format.kernels.values import array_of, values_of
from table_format.spark.tasks.task_results import RESULT_SCHEMA, decode_error, encode_error
from table_format.table.read.aggregates import Totals

_COUNTS: Final = b"files"


def total_result(work: Callable[[], Totals], wanted: Wanted) -> pa.RecordBatch:
    """Do the work of a task. Return its totals, or an error of this library, as one row."""
    data: bytes | None = None
    failure: str | None = None
    try:
        data = encode_totals(work(), wanted)
    except TableFormatError as error:
        failure = encode_error(error)
    columns: list[pa.Array] = [pa.array([data], pa.binary()), pa.array([failure], pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=RESULT_SCHEMA)


def gathered_totals(results: Iterable[Any], wanted: Wanted) -> Iterator[Totals]:
    """Yield the totals of all tasks of a job, from rows with ``messages`` and ``failure``.

    Raises:
        TableFormatError: a task failed.
    """
    for result in results:
        if result.failure is not None:
            raise decode_error(result.failure)
        yield decode_totals(bytes(result.messages), wanted)


def encode_totals(totals: Totals, wanted: Wanted) -> bytes:
    """Encode totals as an Arrow stream with a row for each group. Sums are strings, because they exceed integer types.

    >>> totals = Totals({None: GroupTotals(3)}, files_read=2)
    >>> decode_totals(encode_totals(totals, Wanted()), Wanted()) == totals
    True
    """
    groups = list(totals.groups.values())
    columns: dict[str, pa.Array] = {"rows": pa.array([group.rows for group in groups], pa.int64())}
    if wanted.group_by is not None:
        columns["key"] = array_of(list(totals.groups), wanted.group_by.type)
    for at, field in enumerate(wanted.columns):
        each = [group.columns[at] for group in groups]
        columns[f"count{at}"] = pa.array([found.count for found in each], pa.int64())
        columns[f"total{at}"] = pa.array([str(found.total) for found in each], pa.string())
        if field.name in wanted.with_numbers:
            columns[f"minimum{at}"] = array_of([found.minimum for found in each], field.type)
            columns[f"maximum{at}"] = array_of([found.maximum for found in each], field.type)
    files = f"{totals.files_by_row_count} {totals.files_by_index} {totals.files_read}"
    table = pa.table(columns).replace_schema_metadata({_COUNTS: files.encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def decode_totals(data: bytes, wanted: Wanted) -> Totals:
    """Decode totals."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        table = reader.read_all()
    rows = cast("list[int]", table["rows"].to_pylist())
    keys = [None] if wanted.group_by is None else values_of(table["key"].combine_chunks(), wanted.group_by.type)
    by_column = [_column(table, at, wanted) for at in range(len(wanted.columns))]
    by_group = zip(*by_column, strict=True) if by_column else ((),) * len(rows)
    groups = (GroupTotals(count, tuple(columns)) for count, columns in zip(rows, by_group, strict=True))
    # Without groups, there is one row, or none if there are no files.
    found = dict(zip(keys, groups, strict=wanted.group_by is not None))
    return Totals(found, *map(int, table.schema.metadata[_COUNTS].split()))


def _column(table: pa.Table, at: int, wanted: Wanted) -> list[ColumnTotals]:
    field = wanted.columns[at]
    counts = cast("list[int]", table[f"count{at}"].to_pylist())
    totals = map(int, cast("list[str]", table[f"total{at}"].to_pylist()))
    if field.name not in wanted.with_numbers:
        return list(map(ColumnTotals, counts, totals))
    low, high = (values_of(table[f"{end}{at}"].combine_chunks(), field.type) for end in ("minimum", "maximum"))
    return list(map(ColumnTotals, counts, totals, low, high))
