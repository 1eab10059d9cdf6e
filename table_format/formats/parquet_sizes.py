"""Checks the size statistics in Parquet footers, because damaged ones crash the process in Arrow.

A column chunk may state the count of each repetition and definition level, and the size of its texts. Arrow compares
them with the schema when it opens a chunk's metadata, and throws an exception that cannot be caught. They are therefore
compared here first. Parquet format, ``parquet.thrift``, ``SizeStatistics``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow.parquet as pq

from table_format.formats.thrift_compact import LIST, STRUCT, ThriftCursor

_ROW_GROUPS, _COLUMNS, _META_DATA, _SIZES = 4, 1, 3, 16
_TEXT_BYTES, _REPETITION, _DEFINITION = 1, 2, 3


class Sizes(NamedTuple):
    """How many repetition and definition levels a column chunk has counts of, 0 of none, and whether it states the
    bytes that its texts have without an encoding.
    """

    repetition: int = 0
    definition: int = 0
    has_text_bytes: bool = False


def size_statistics(footer: bytes) -> list[Sizes]:
    """Return the size statistics of all column chunks, ordered by row group and column.

    Raises:
        ValueError: the bytes are not a footer.
    """
    try:
        return list(_of_footer(ThriftCursor(footer)))
    except IndexError as error:
        message = "the footer is truncated"
        raise ValueError(message) from error


def misfit(metadata: pq.FileMetaData, found: list[Sizes]) -> str | None:
    """Return the error in the size statistics of a file's footer; ``None`` if they fit its schema."""
    columns = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    if len(found) != len(columns) * metadata.num_row_groups:
        return f"{len(found)} column chunks in {metadata.num_row_groups} row groups of {len(columns)} columns"
    expected = [
        Sizes(c.max_repetition_level + 1, c.max_definition_level + 1, c.physical_type == "BYTE_ARRAY") for c in columns
    ]
    for number, sizes in enumerate(found):
        most = expected[number % len(columns)]
        if (
            sizes.repetition not in (0, most.repetition)
            or sizes.definition not in (0, most.definition)
            or sizes.has_text_bytes > most.has_text_bytes
        ):
            path = columns[number % len(columns)].path
            return f"the size statistics of column '{path}' are {tuple(sizes)}, but its type allows {tuple(most)}"
    return None


def _of_footer(footer: ThriftCursor) -> Iterator[Sizes]:
    for field, kind in footer.fields():
        if field == _ROW_GROUPS and kind == LIST:
            for _ in range(_struct_count(footer)):
                yield from _of_row_group(footer)
        else:
            footer.skip(kind)


def _of_row_group(footer: ThriftCursor) -> Iterator[Sizes]:
    for field, kind in footer.fields():
        if field == _COLUMNS and kind == LIST:
            for _ in range(_struct_count(footer)):
                yield _of_member(footer, _META_DATA, lambda meta: _of_member(meta, _SIZES, _sizes))
        else:
            footer.skip(kind)


def _of_member(footer: ThriftCursor, member: int, read: Callable[[ThriftCursor], Sizes]) -> Sizes:
    """Return the result of ``read`` for one struct within a struct, or no sizes if the struct is not set."""
    found = Sizes()
    for field, kind in footer.fields():
        if field == member and kind == STRUCT:
            found = read(footer)
        else:
            footer.skip(kind)
    return found


def _sizes(footer: ThriftCursor) -> Sizes:
    lengths = {_REPETITION: 0, _DEFINITION: 0}
    has_text_bytes = False
    for field, kind in footer.fields():
        has_text_bytes = has_text_bytes or field == _TEXT_BYTES
        if field in lengths and kind == LIST:
            lengths[field], element = footer.list_header()
            for _ in range(lengths[field]):
                footer.skip(element)
        else:
            footer.skip(kind)
    return Sizes(lengths[_REPETITION], lengths[_DEFINITION], has_text_bytes)


def _struct_count(footer: ThriftCursor) -> int:
    """Return the number of structs in a list.

    Raises:
        ValueError: the elements of the list are not structs.
    """
    size, element = footer.list_header()
    if element != STRUCT:
        message = f"expected a list of structs, found one of Thrift type {element}"
        raise ValueError(message)
    return size
