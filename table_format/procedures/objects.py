"""The procedure that refreshes an object table (Java ``RefreshObjectTableProcedure`` of release 1.0)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidInputError
from table_format.object_table.table import ObjectTable
from table_format.procedures.declare import TABLE, Call, Procedure, Row


def _refresh(call: Call) -> Iterable[Row]:
    table = call.table()
    if not isinstance(table, ObjectTable):
        message = f"procedure '{call.procedure}': '{table.identifier}' is not an object table"
        raise InvalidInputError(message)
    return [(table.refresh().file_count,)]


REFRESH_OBJECT_TABLE: Final = Procedure(
    "refresh_object_table",
    "List the location of an object table, and make its rows the files that are there.",
    (TABLE,),
    _refresh,
    pa.schema([pa.field("file_number", pa.int64(), nullable=False)]),
)
