"""Refuses files with a newer schema than the table handle of the reader if values would be lost.

A handle keeps the schema with which it was opened, while other processes may alter the table and write with the new
schema. Columns that can hold every value of such a file are read as usual. If values would be cut off, or would be
missing from rows that are written back, the read fails before the first row. It also fails if a column was dropped: it
has no values in such a file, even if another column now has its name. Schema ids ascend, so a schema with a higher id
than the handle's is newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from table_format.errors import SchemaChanged
from table_format.model.column_fit import dropped_columns, lost_columns, narrowed_columns
from table_format.model.schema import TableSchema
from table_format.model.types import DataField


def refuse_newer(
    written: Iterable[TableSchema],
    schema: TableSchema,
    fields: Sequence[DataField],
    *,
    where: str,
    rewriting: bool,
) -> None:
    """Refuse files of the schemas ``written`` if ``schema`` would lose some of their values, or has dropped columns.

    ``fields`` are the columns that are read; with ``rewriting`` all columns count, because the rows are written back.
    ``where`` names the table or the file.

    Raises:
        SchemaChanged: values would be lost, or do not exist; the message names the columns and both schemas.
    """
    for newer in written:
        if newer.id <= schema.id:
            continue
        if rewriting:
            lost = lost_columns(newer.fields, schema.fields)
        else:
            refuse_dropped(newer, schema, fields, where=where)
            lost = narrowed_columns(newer.physical_fields, fields)
        if lost:
            advice = "Nothing was written; load the table again" if rewriting else "Load the table again"
            message = (
                f"{opened_before(newer, schema, where)}, which would lose values of {_names(lost)}. {advice} and repeat"
            )
            raise SchemaChanged(message)


def refuse_dropped(newer: TableSchema, schema: TableSchema, fields: Sequence[DataField], *, where: str) -> None:
    """Refuse rows of a newer schema that has dropped some of the columns ``fields`` of ``schema``.

    Raises:
        SchemaChanged: the message names the columns and both schemas.
    """
    dropped = dropped_columns(newer.fields, fields) if newer.id > schema.id else ()
    if dropped:
        message = (
            f"{opened_before(newer, schema, where)}, which has columns that were dropped since: {_names(dropped)}. "
            "Load the table again and repeat"
        )
        raise SchemaChanged(message)


def opened_before(newer: TableSchema, schema: TableSchema, where: str) -> str:
    """Return the beginning of an error about rows of a newer schema than that of the table handle."""
    return f"{where}: rows were written under schema {newer.id}, and the table was opened under schema {schema.id}"


def _names(columns: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(columns))
