"""Texts that are longer than their column, which only other writers store (Flink does not check them by default).

An ORC file of Java has only as many characters as the column, and its reader cuts longer texts. So such a text is not
stored in ORC (``storable``), where the two engines would show different values.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.formats.leaves import check_leaves
from table_format.model.arrow_calls import utf8_length
from table_format.model.types import MAX_LENGTH, DataField, DataType, TextType, types_in


def check_text_lengths(column: pa.Array, field: DataField) -> None:
    """Refuse a column with a text that is longer than its type says.

    Raises:
        InvalidData: names the column and its type.
    """

    def check(texts: pa.Array, data_type: DataType) -> None:
        if isinstance(data_type, TextType) and (pc.max(utf8_length(texts)).as_py() or 0) > data_type.length:
            message = f"column '{field.name}': a text is longer than {data_type}, and ORC would cut it"
            raise InvalidData(message)

    if any(isinstance(part, TextType) and part.length < MAX_LENGTH for part in types_in(field.type)):
        check_leaves(column, field.type, check)
