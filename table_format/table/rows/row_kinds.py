"""The column ``rowkind``, which shows readers the row kind of each row (Java ``SpecialFields.ROW_KIND``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from table_format.model.arrow_types import arrow_schema
from table_format.model.row_kind import ROW_KIND_TEXT
from table_format.model.schema import VALUE_KIND
from table_format.model.types import MAX_LENGTH, DataField, VarCharType

ROW_KIND: Final = DataField(2_147_483_643, "rowkind", VarCharType(length=MAX_LENGTH))


def row_kind_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema of ``rowkind`` and then these columns."""
    return arrow_schema((ROW_KIND, *fields))


def kind_texts(batch: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
    """Rows with their kinds as numbers, as ``rowkind`` and then these columns.

    >>> batch = pa.record_batch({"_VALUE_KIND": pa.array([0, 3], pa.int8())})
    >>> kind_texts(batch, ()).to_pydict()
    {'rowkind': ['+I', '-D']}
    """
    texts = pa.array(ROW_KIND_TEXT, pa.string()).take(batch.column(VALUE_KIND.name))
    columns = [texts, *(batch.column(f.name) for f in fields)]
    return pa.RecordBatch.from_arrays(columns, schema=row_kind_schema(fields))
