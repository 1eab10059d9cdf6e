"""Reads input rows as batches: Arrow, pandas, polars, and anything with the Arrow stream interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa

from table_format.errors import InvalidData
from table_format.limits import MIB
from table_format.model.types import DataField
from table_format.table.rows.views import schema_without_views
from table_format.table.rows.whole_floats import with_integers

MAX_INPUT_ROWS: Final = 262_144
MAX_INPUT_BYTES: Final = 256 * MIB
"""The largest batch that is routed at once. Larger batches are divided. This limits the memory for copies of a batch,
and keeps text within the size of an Arrow string column."""


_CONVERSIONS: Final = {
    "list": "; use pyarrow.Table.from_pylist(rows, schema=table.arrow_schema)",
    "dict": "; use pyarrow.table(rows, schema=table.arrow_schema)",
    "LazyFrame": "; use frame.collect()",
}
"""What to write for rows of other types, by the name of the type."""


class ArrowStream(Protocol):
    """Anything with the Arrow C stream interface: polars and duckdb among others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Rows: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | ArrowStream


def reader_of(data: Rows, columns: Sequence[DataField] = ()) -> pa.RecordBatchReader:
    """Return the rows as one stream, without views (see ``without_views``).

    ``columns`` are those of the table that gets the rows; see ``with_integers``.

    Raises:
        InvalidData: the value is not a table.
    """
    found = _given_reader(data, columns)
    schema = schema_without_views(found.schema)
    if schema.equals(found.schema):
        return found
    return pa.RecordBatchReader.from_batches(schema, (part.cast(schema) for _, part in batches_of(found)))


def _given_reader(data: Rows, columns: Sequence[DataField]) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if isinstance(data, pa.Table):
        return data.to_reader()
    if type(data).__module__.partition(".")[0] == "pandas" and type(data).__name__ == "DataFrame":
        _refuse_index(data)
        try:
            table = pa.Table.from_pandas(data, preserve_index=False)
        except (pa.ArrowException, UnicodeEncodeError, OverflowError, TypeError, ValueError) as error:
            message = f"a column of the DataFrame holds values without a common Arrow type: {error}"
            raise InvalidData(message) from error
        _refuse_periods(table.schema)
        return with_integers(table, columns).to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        refuse_objects(data)
        return pa.RecordBatchReader.from_stream(data)
    message = (
        "expected rows as a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars DataFrame, or anything "
        f"with the Arrow stream interface; found {type(data).__name__}{_CONVERSIONS.get(type(data).__name__, '')}"
    )
    raise InvalidData(message)


def _refuse_index(frame: Any) -> None:  # noqa: ANN401 - pandas may be missing
    """Refuse an index with a name, such as the keys of a ``groupby``. It is no column, so its values would be lost.

    Raises:
        InvalidData: the index has a name that no column has.
    """
    lost = [str(name) for name in frame.index.names if name is not None and name not in frame.columns]
    if lost:
        message = (
            f"the DataFrame has the index {', '.join(lost)}, which is not a column and would be lost; call "
            "reset_index() to store it, or drop it"
        )
        raise InvalidData(message)


def _refuse_periods(schema: pa.Schema) -> None:
    """Refuse periods of pandas. Arrow stores their numbers, whose meaning depends on a frequency that is not stored.

    Raises:
        InvalidData: a column holds periods.
    """
    lost = [field.name for field in schema if getattr(field.type, "extension_name", "") == "pandas.period"]
    if lost:
        message = (
            f"the DataFrame holds periods in {', '.join(lost)}; convert them with dt.to_timestamp() or astype(str), "
            "because a table has no type for them"
        )
        raise InvalidData(message)


def refuse_objects(frame: Any) -> None:  # noqa: ANN401 - polars may be missing
    """Refuse Python objects in a polars frame. Arrow gets their addresses in memory instead of their values.

    Raises:
        InvalidData: a column holds Python objects.
    """
    if type(frame).__module__.partition(".")[0] != "polars":
        return
    types = getattr(frame, "schema", {})
    lost = [name for name, found in types.items() if str(found) == "Object"]
    if lost:
        message = (
            f"the polars frame holds Python objects in {', '.join(lost)}, whose values Arrow cannot hold; convert "
            "them to a type of polars, or drop the columns"
        )
        raise InvalidData(message)


def batches_of(reader: pa.RecordBatchReader) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Return the non-empty batches, limited in size, each with the number of rows before it."""
    before = 0
    for batch in reader:
        pieces = -(-batch.nbytes // MAX_INPUT_BYTES)
        step = max(1, min(MAX_INPUT_ROWS, -(-batch.num_rows // max(1, pieces))))
        for start in range(0, batch.num_rows, step):
            part = batch.slice(start, step)
            yield before, part
            before += part.num_rows
