"""The ORC schema of a data file, and the scalars that ORC stores differently from Arrow.

TIME is an int of milliseconds. CHAR is padded with spaces when it is written, and the spaces are removed when it is
read. Each type has its field id in the attribute ``paimon.id``. Format chapter 06, section 3; Java ``OrcTypeUtil``,
``OrcFileFormat``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.formats.leaves import check_leaves, convert_leaves, entry_types
from table_format.model.arrow_calls import map_
from table_format.model.arrow_types import arrow_type
from table_format.model.field_ids import element_id, key_id, value_id
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    CharType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TimeType,
    types_in,
)

_ID: Final = "paimon.id"
UNITS_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def orc_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema that Arrow's writer converts to Java's ORC schema."""
    return pa.schema([_orc_field(f) for f in fields])


def to_storage(array: pa.Array, data_type: DataType) -> pa.Array:
    """Convert values of ``arrow_type(data_type)`` to the form that is passed to Arrow's writer.

    Raises:
        InvalidData: a value cannot be stored; see ``check_values``.
    """
    target = _orc_type(data_type, 0, 0)
    # Arrow's ORC writer stores the fields of null rows unless they are null too, and no reader expects them.
    return convert_leaves(array, data_type, target, _stored, spread_nulls=True)


def check_values(array: pa.Array, data_type: DataType) -> None:
    """Refuse values that cannot be stored in ORC.

    Raises:
        InvalidData: a timestamp before 1970 has a fraction of a millisecond.
    """
    if any(isinstance(part, AnyTimestampType) for part in types_in(data_type)):
        check_leaves(array, data_type, _check_timestamps)


def from_storage(array: pa.Array, data_type: DataType) -> pa.Array:
    """Convert values from Arrow's reader to ``arrow_type(data_type)``, the type in the file's schema.

    Raises:
        pa.ArrowInvalid: the column of the file has a different type.
    """
    return convert_leaves(array, data_type, arrow_type(data_type), _restored)


def _stored(array: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:
    if array.offset:
        # Within rows, Arrow's ORC writer ignores the offset of a slice.
        array = pa.concat_arrays([array])
    match data_type:
        case CharType(length=length):
            return pc.utf8_rpad(array, length, " ")
        case AnyTimestampType():
            _check_timestamps(array, data_type)
    return array if array.type == target else array.cast(target)


def _restored(array: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(target):
        return array.cast(target, safe=False)
    restored = array if array.type == target else array.cast(target)
    if pa.types.is_string(target) or pa.types.is_decimal(target) or pa.types.is_time(target):
        # ORC has no checksums. Validation ensures at least that arrays are valid for Arrow.
        restored.validate(full=True)
    return pc.utf8_rtrim(restored, " ") if isinstance(data_type, CharType) else restored


def _check_timestamps(array: pa.Array, data_type: DataType) -> None:
    if not isinstance(data_type, AnyTimestampType):
        return
    per_milli = UNITS_PER_SECOND[array.type.unit] // 1000
    if per_milli <= 1:
        return
    counts = array.cast(pa.int64())
    first = pc.min(counts).as_py()
    if first is None or first >= 0:
        return
    ticks = counts.fill_null(0).to_numpy(zero_copy_only=False)
    finer = ticks[(ticks < 0) & (ticks % per_milli != 0)]
    if len(finer):
        # Arrow stores this fraction as a negative number, which Java cannot read.
        shown = pa.array(finer[:1]).view(pa.timestamp(array.type.unit)).cast(pa.string())[0]
        message = (
            f"{shown} as {data_type}: a timestamp before 1970 with a fraction of a millisecond cannot be stored in "
            "ORC by this version; store the table as Parquet (file.format = parquet, and no orc in "
            "file.format.per.level and changelog-file.format)"
        )
        raise InvalidData(message)


def _orc_field(field: DataField) -> pa.Field:
    return _field(field.name, _orc_type(field.type, field.id, 0), field.type.nullable, field.id)


def _field(name: str, arrow: pa.DataType, nullable: bool, field_id: int) -> pa.Field:  # noqa: FBT001
    return pa.field(name, arrow, nullable, {_ID: str(field_id)})


def _orc_type(data_type: DataType, column_id: int, depth: int) -> pa.DataType:
    """Return the ORC type; ``column_id`` is the id of the enclosing column or ROW field, ``depth`` the nesting."""
    below = depth + 1
    match data_type:
        case TimeType():
            return pa.int32()
        case ArrayType(element=element):
            child = _orc_type(element, column_id, below)
            return pa.list_(_field("element", child, element.nullable, element_id(column_id, below)))
        case MapType() | MultisetType():
            key, value = entry_types(data_type)
            return map_(
                _field("key", _orc_type(key, column_id, below), False, key_id(column_id, below)),
                _field("value", _orc_type(value, column_id, below), value.nullable, value_id(column_id, below)),
            )
        case RowType(fields=fields):
            return pa.struct([_orc_field(f) for f in fields])
    return arrow_type(data_type)
