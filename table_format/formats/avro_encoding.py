"""Encodes columns in Avro's binary encoding: each value becomes one piece of bytes; numbers are encoded by column.

The concatenated pieces of a row are its record. Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, cast

import numpy as np
import pyarrow as pa

from table_format.formats.avro_types import is_array_map, stored_type, timestamp_unit_of
from table_format.formats.nested import list_values, map_entries, struct_fields
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    BooleanType,
    BytesType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
    TextType,
)

_NULL: Final = b"\x00"
_NOT_NULL: Final = b"\x02"
_END: Final = b"\x00"
_GROUP_BITS: Final = 7
_MAX_GROUPS: Final = 10
_GROUP_LIMITS: Final = np.array([1 << _GROUP_BITS * n for n in range(1, _MAX_GROUPS)], np.uint64)
_DECIMAL_BYTES: Final = 16


def encoded_rows(columns: Sequence[pa.Array], types: Sequence[DataType]) -> bytes:
    """Return the concatenated records of the rows of these columns.

    >>> from table_format.model.types import IntType, VarCharType
    >>> columns = [pa.array([1, None], pa.int32()), pa.array(["a", "b"])]
    >>> encoded_rows(columns, [IntType(), VarCharType(nullable=False)]).hex(" ")
    '02 02 02 61 00 02 62'
    """
    pieces = [_pieces(column, data_type) for column, data_type in zip(columns, types, strict=True)]
    return b"".join(chain.from_iterable(zip(*pieces, strict=True)))


def _pieces(array: pa.Array, data_type: DataType) -> list[bytes]:
    values = _values(array, data_type)
    if not data_type.nullable:
        return values
    if not array.null_count:
        return [_NOT_NULL + value for value in values]
    return [_NOT_NULL + v if valid else _NULL for v, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _values(array: pa.Array, data_type: DataType) -> list[bytes]:
    """Return the encoded values without the branch of their union; undefined for nulls."""
    match data_type:
        case BooleanType():
            return [b"\x01" if value else b"\x00" for value in array.to_pylist()]
        case FloatType():
            return _fixed(array.fill_null(0).to_numpy(zero_copy_only=False).astype("<f4"))
        case DoubleType():
            return _fixed(array.fill_null(0).to_numpy(zero_copy_only=False).astype("<f8"))
        case TextType() | BytesType():
            return _sized([value or b"" for value in array.cast(pa.binary()).to_pylist()])
        case DecimalType():
            return _sized(list(_unscaled(array)))
        case AnyTimestampType():
            unit = timestamp_unit_of(data_type)
            plain = array.view(pa.timestamp(array.type.unit)).cast(pa.timestamp(unit))
            return _numbers(plain.cast(pa.int64()))
        case ArrayType(element=element):
            return _blocks(array, _pieces(list_values(array), element))
        case MapType() | MultisetType():
            return _maps(array, data_type)
        case RowType(fields=fields):
            members = [_pieces(c, f.type) for c, f in zip(struct_fields(array), fields, strict=True)]
            return [b"".join(row) for row in zip(*members, strict=True)]
    if pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        array = array.cast(pa.int32())
    return _numbers(array)


def _maps(array: pa.Array, data_type: MapType | MultisetType) -> list[bytes]:
    key_type, value_type = stored_type(data_type)
    keys, items = map_entries(array)
    # The keys of Avro's own map are plain texts, those of entry records are of the type declared.
    encoded_keys = _pieces(keys, key_type) if is_array_map(data_type) else _values(keys, key_type)
    return _blocks(array, [key + value for key, value in zip(encoded_keys, _pieces(items, value_type), strict=True)])


def _blocks(array: pa.Array, items: list[bytes]) -> list[bytes]:
    """Return, for each list, one block of its items preceded by their number, and the end marker."""
    offsets = cast("pa.ListArray", array).offsets.to_numpy().astype(np.int64)
    offsets = offsets - offsets[0]
    counts = integer_pieces(np.diff(offsets))
    bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), counts, strict=True)
    return [b"".join((count, *items[a:b], _END)) if b > a else _END for a, b, count in bounds]


def _numbers(array: pa.Array) -> list[bytes]:
    return integer_pieces(array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64))


def _sized(values: list[bytes]) -> list[bytes]:
    sizes = integer_pieces(np.fromiter(map(len, values), np.int64, len(values)))
    return [size + value for size, value in zip(sizes, values, strict=True)]


def _fixed(values: np.ndarray) -> list[bytes]:
    data, width = values.tobytes(), values.itemsize
    return [data[at : at + width] for at in range(0, len(data), width)]


def _unscaled(array: pa.Array) -> Iterator[bytes]:
    """Yield the unscaled values, big-endian and as short as possible."""
    buffer = array.buffers()[1]
    data = b"" if buffer is None else buffer.to_pybytes()
    for row, valid in enumerate(array.is_valid().to_pylist(), array.offset):
        if not valid:
            yield b""
            continue
        value = int.from_bytes(data[row * _DECIMAL_BYTES : (row + 1) * _DECIMAL_BYTES], "little", signed=True)
        yield value.to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True)


def integer_pieces(values: np.ndarray) -> list[bytes]:
    """Return numbers encoded as zigzag varints.

    >>> [piece.hex() for piece in integer_pieces(np.array([0, -1, 64, -(2**63)], np.int64))]
    ['00', '01', '8001', 'ffffffffffffffffff01']
    """
    rest = (values.astype(np.int64) << 1 ^ values.astype(np.int64) >> 63).view(np.uint64)
    groups = np.searchsorted(_GROUP_LIMITS, rest, side="right") + 1
    ends = np.cumsum(groups)
    starts = ends - groups
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    for n in range(int(groups.max(initial=0))):
        longer = groups > n
        more = np.where(groups[longer] > n + 1, 0x80, 0).astype(np.uint64)
        bits = rest[longer] >> np.uint64(_GROUP_BITS * n) & np.uint64(0x7F)
        out[starts[longer] + n] = (bits | more).astype(np.uint8)
    data = out.tobytes()
    return [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
