"""Changes in the footer of a Parquet file for which Arrow has no setting.

Arrow writes and reads INT96 columns as fixed-length bytes: values and pages are the same, and only the type in the
footer differs. Statistics that would mislead readers are removed, also those of pages: a column with NaN has none, as
in Java's files.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_format.formats.thrift_compact import Struct, decode_struct, encode_struct

MAGIC: Final = b"PAR1"
FOOTER_TAIL: Final = struct.Struct("<I4s")
"""The size of the footer length and the magic at the end of a file."""
_INT96, _FIXED = 3, 7
_INT96_BYTES: Final = 12
_MAX_DEPTH: Final = 100

# Field ids of parquet.thrift.
_FILE_SCHEMA, _FILE_ROW_GROUPS = 2, 4
_ELEMENT_TYPE, _ELEMENT_TYPE_LENGTH, _ELEMENT_NAME, _ELEMENT_CHILDREN = 1, 2, 4, 5
_GROUP_COLUMNS = 1
_CHUNK_META_DATA, _CHUNK_COLUMN_INDEX_OFFSET, _CHUNK_COLUMN_INDEX_LENGTH = 3, 6, 7
_META_TYPE, _META_PATH, _META_STATISTICS = 1, 3, 12


def rewrite_tail(
    tail: bytes, *, int96: Collection[tuple[str, ...]], without_statistics: Collection[tuple[str, ...]]
) -> bytes:
    """Return the end of a file that Arrow wrote, with columns changed to INT96 and statistics removed.

    ``tail`` ends with the footer, its length and the magic; columns are given by their path in the schema.
    """
    length, _ = FOOTER_TAIL.unpack(tail[-FOOTER_TAIL.size :])
    start = len(tail) - FOOTER_TAIL.size - length
    footer = decode_struct(tail[start : start + length])
    for path, element in leaves_of(footer):
        if path in int96:
            element.remove(_ELEMENT_TYPE_LENGTH)
            element.put_i32(_ELEMENT_TYPE, _INT96)
    for path, chunk in _chunks(footer):
        if path in int96:
            chunk.put_i32(_META_TYPE, _INT96)
        if path in without_statistics:
            chunk.remove(_META_STATISTICS)
    for chunk in _column_chunks(footer):
        meta = chunk.struct(_CHUNK_META_DATA)
        if meta is not None and tuple(meta.texts(_META_PATH)) in without_statistics:
            chunk.remove(_CHUNK_COLUMN_INDEX_OFFSET)
            chunk.remove(_CHUNK_COLUMN_INDEX_LENGTH)
    encoded = encode_struct(footer)
    return tail[:start] + encoded + FOOTER_TAIL.pack(len(encoded), MAGIC)


def has_int96(metadata: pq.FileMetaData) -> bool:
    """Return whether a file has a column of type INT96."""
    schema = metadata.schema
    return any(schema.column(i).physical_type == "INT96" for i in range(len(schema)))


def read_footer(source: pa.NativeFile) -> bytes:
    """Return the Thrift bytes of the footer of a file.

    Raises:
        ValueError: the end of the file is not that of a Parquet file.
    """
    size = source.size()
    if size < FOOTER_TAIL.size:
        message = f"{size} bytes are not a Parquet file"
        raise ValueError(message)
    source.seek(size - FOOTER_TAIL.size)
    length, magic = FOOTER_TAIL.unpack(source.read(FOOTER_TAIL.size))
    if magic != MAGIC or length > size - FOOTER_TAIL.size:
        message = f"the file of {size} bytes ends with {magic!r} after a footer of {length} bytes"
        raise ValueError(message)
    source.seek(size - FOOTER_TAIL.size - length)
    footer: bytes = source.read(length)
    return footer


def with_int96_as_bytes(source: pa.NativeFile) -> pq.FileMetaData:
    """Return the metadata of a file, with INT96 columns declared as twelve bytes each."""
    footer = decode_struct(read_footer(source))
    turn_int96_into_bytes(footer)
    encoded = encode_struct(footer)
    return pq.read_metadata(pa.BufferReader(MAGIC + encoded + FOOTER_TAIL.pack(len(encoded), MAGIC)))


def turn_int96_into_bytes(footer: Struct) -> None:
    """Declare INT96 columns as twelve bytes each, in the schema and in all column chunks."""
    for _, element in leaves_of(footer):
        kind = element.find(_ELEMENT_TYPE)
        if kind is not None and kind.value == _INT96:
            element.put_i32(_ELEMENT_TYPE, _FIXED)
            element.put_i32(_ELEMENT_TYPE_LENGTH, _INT96_BYTES)
    for _, chunk in _chunks(footer):
        kind = chunk.find(_META_TYPE)
        if kind is not None and kind.value == _INT96:
            chunk.put_i32(_META_TYPE, _FIXED)


def leaves_of(footer: Struct) -> list[tuple[tuple[str, ...], Struct]]:
    """Return the primitive elements of the schema, a list in pre-order, with their paths."""
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


def _column_chunks(footer: Struct) -> list[Struct]:
    return [chunk for group in footer.structs(_FILE_ROW_GROUPS) for chunk in group.structs(_GROUP_COLUMNS)]


def _chunks(footer: Struct) -> list[tuple[tuple[str, ...], Struct]]:
    """Return the metadata of all column chunks, with the paths of their columns."""
    found = [chunk.struct(_CHUNK_META_DATA) for chunk in _column_chunks(footer)]
    return [(tuple(meta.texts(_META_PATH)), meta) for meta in found if meta is not None]
