"""Files of a schema that the reader's table handle does not know yet.

A handle keeps the schema it was opened with, while others alter the table and write under the new one. Columns that
hold every value of such a file are shown as ever. Where values would be cut off, or left out of rows that are written
back, reading stops before a row is given out. Schema ids ascend, so an id above the handle's is a newer schema.
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
    """Refuse files of the schemas ``written`` that ``schema`` would cut values of.

    ``fields`` are the columns to show; with ``rewriting`` the rows are written back, so all columns count. ``where``
    names the table or the file.

    Raises:
        SchemaChanged: names the columns and both schemas.
    """
    for newer in written:
        if newer.id <= schema.id:
            continue
        if rewriting:
            lost = lost_columns(newer.fields, schema.fields)
        else:
            lost = narrowed_columns(newer.physical_fields, fields)
        if lost:
            message = (
                f"{where}: rows were written under schema {newer.id}, and the table was opened under schema "
                f"{schema.id}, which would lose values of {', '.join(lost)}. Nothing was written; load the table again "
                "and repeat"
            )
            raise SchemaChanged(message)
