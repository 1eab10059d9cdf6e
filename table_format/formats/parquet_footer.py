"""Changes to the footer of a Parquet file that Arrow offers no setting for.

INT96 columns pass through Arrow as fixed-length bytes: values and pages are the same, only the type in the footer
differs. Statistics that would mislead readers are taken out (a column with NaN has none, as in Java's files).
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_format.formats.thrift_compact import Struct, decode_struct, encode_struct

_MAGIC: Final = b"PAR1"
_TAIL: Final = struct.Struct("<I4s")
_INT96, _FIXED = 3, 7
_INT96_BYTES: Final = 12
_MAX_DEPTH: Final = 100

# Field ids of parquet.thrift.
_FILE_SCHEMA, _FILE_ROW_GROUPS = 2, 4
_ELEMENT_TYPE, _ELEMENT_TYPE_LENGTH, _ELEMENT_NAME, _ELEMENT_CHILDREN = 1, 2, 4, 5
_GROUP_COLUMNS = 1
_CHUNK_META_DATA = 3
_META_TYPE, _META_PATH, _META_STATISTICS = 1, 3, 12


def rewrite_tail(
    tail: bytes, *, int96: Collection[tuple[str, ...]], without_statistics: Collection[tuple[str, ...]]
) -> bytes:
    """The end of a file as Arrow wrote it, with columns turned into INT96 and statistics removed.

    ``tail`` ends with the footer, its length and the magic; columns are given by their path in the schema.
    """
    length, _ = _TAIL.unpack(tail[-_TAIL.size :])
    start = len(tail) - _TAIL.size - length
    footer = decode_struct(tail[start : start + length])
    for path, element in _leaves(footer):
        if path in int96:
            element.remove(_ELEMENT_TYPE_LENGTH)
            element.put_i32(_ELEMENT_TYPE, _INT96)
    for path, chunk in _chunks(footer):
        if path in int96:
            chunk.put_i32(_META_TYPE, _INT96)
        if path in without_statistics:
            chunk.remove(_META_STATISTICS)
    encoded = encode_struct(footer)
    return tail[:start] + encoded + _TAIL.pack(len(encoded), _MAGIC)


def has_int96(metadata: pq.FileMetaData) -> bool:
    """Whether a file has a column of type INT96."""
    schema = metadata.schema
    return any(schema.column(i).physical_type == "INT96" for i in range(len(schema)))


def with_int96_as_bytes(source: pa.NativeFile) -> pq.FileMetaData:
    """The metadata of a file, with INT96 columns declared as twelve bytes each."""
    size = source.size()
    source.seek(size - _TAIL.size)
    length, _ = _TAIL.unpack(source.read(_TAIL.size))
    source.seek(size - _TAIL.size - length)
    footer = decode_struct(source.read(length))
    for _, element in _leaves(footer):
        kind = element.find(_ELEMENT_TYPE)
        if kind is not None and kind.value == _INT96:
            element.put_i32(_ELEMENT_TYPE, _FIXED)
            element.put_i32(_ELEMENT_TYPE_LENGTH, _INT96_BYTES)
    for _, chunk in _chunks(footer):
        kind = chunk.find(_META_TYPE)
        if kind is not None and kind.value == _INT96:
            chunk.put_i32(_META_TYPE, _FIXED)
    encoded = encode_struct(footer)
    return pq.read_metadata(pa.BufferReader(_MAGIC + encoded + _TAIL.pack(len(encoded), _MAGIC)))


def _leaves(footer: Struct) -> list[tuple[tuple[str, ...], Struct]]:
    """The primitive elements of the schema with their paths; the schema is a list in pre-order."""
    elements = iter(footer.structs(_FILE_SCHEMA))
    leaves: list[tuple[tuple[str, ...], Struct]] = []

    def walk(path: tuple[str, ...], element: Struct) -> None:
        count = _children(element)
        if count == 0:
            leaves.append((path, element))
        for _ in range(count):
            child = next(elements, None)
            if child is None or len(path) > _MAX_DEPTH:
                message = "the footer's schema is not a tree"
                raise ValueError(message)
            name = child.find(_ELEMENT_NAME)
            walk((*path, name.value.decode() if name and isinstance(name.value, bytes) else ""), child)

    walk((), next(elements, Struct([])))
    return leaves


def _children(element: Struct) -> int:
    count = element.find(_ELEMENT_CHILDREN)
    return count.value if count and isinstance(count.value, int) else 0


def _chunks(footer: Struct) -> list[tuple[tuple[str, ...], Struct]]:
    return [
        (tuple(meta.texts(_META_PATH)), meta)
        for group in footer.structs(_FILE_ROW_GROUPS)
        for chunk in group.structs(_GROUP_COLUMNS)
        if (meta := chunk.struct(_CHUNK_META_DATA)) is not None
    ]
