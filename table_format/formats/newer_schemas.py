"""Refuses files with a newer schema than the table handle of the reader if values would be lost.

A handle keeps the schema with which it was opened, while other processes may alter the table and write with the new
schema. Columns that can hold every value of such a file are read as usual. If values would be cut off, or would be
missing from rows that are written back, the read fails before the first row. Schema ids ascend, so a schema with a
higher id than the handle's is newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from table_format.errors import SchemaChanged
from table_format.model.column_fit import lost_columns, narrowed_columns
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
    """Refuse files of the schemas ``written`` if ``schema`` would lose some of their values.

    ``fields`` are the columns that are read; with ``rewriting`` all columns count, because the rows are written back.
    ``where`` names the table or the file.

    Raises:
        SchemaChanged: values would be lost; the message names the columns and both schemas.
    """
    for newer in written:
        if newer.id <= schema.id:
            continue
        if rewriting:
            lost = lost_columns(newer.fields, schema.fields)
        else:
            lost = narrowed_columns(newer.physical_fields, fields)
        if lost:
            advice = "Nothing was written; load the table again" if rewriting else "Load the table again"
            message = (
                f"{where}: rows were written under schema {newer.id}, and the table was opened under schema "
                f"{schema.id}, which would lose values of {', '.join(lost)}. {advice} and repeat"
            )
            raise SchemaChanged(message)
