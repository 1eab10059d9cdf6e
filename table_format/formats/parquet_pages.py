"""Reads single pages of a Parquet file, for rows at given positions.

Arrow reads only whole column chunks. The pages that hold the rows are therefore assembled in memory to a small file of
one column with its own footer, which Arrow reads. The offset index of a chunk contains the positions of its pages
(Parquet format, ``PageIndex.md``); a chunk without one is treated as a single page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import BadEncoding
from table_format.formats.parquet_footer import FOOTER_TAIL, MAGIC, leaves_of, turn_int96_into_bytes
from table_format.formats.thrift_compact import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Field,
    Items,
    Struct,
    Value,
    decode_struct,
    encode_struct,
)

Positions = npt.NDArray[np.int64]
"""Row positions, ascending."""

# Field ids of parquet.thrift.
_VERSION, _SCHEMA, _ROWS, _GROUPS, _CREATED_BY = 1, 2, 3, 4, 6
_GROUP_COLUMNS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_CHUNK_OFFSET, _CHUNK_META, _CHUNK_INDEX_OFFSET, _CHUNK_INDEX_LENGTH = 2, 3, 4, 5
_TYPE, _ENCODINGS, _PATH, _CODEC, _VALUES, _UNCOMPRESSED, _COMPRESSED = 1, 2, 3, 4, 5, 6, 7
_DATA_OFFSET, _DICTIONARY_OFFSET = 9, 11
_LOCATIONS = 1
_PAGE_OFFSET, _PAGE_BYTES, _PAGE_FIRST_ROW = 1, 2, 3
_ELEMENT_REPETITION, _ELEMENT_CHILDREN = 3, 5
_REPEATED: Final = 2

_MAX_INDEX_BYTES: Final = 1 << 26


class Page(NamedTuple):
    """A data page: its first row within the row group, its row count, and the position and size of its bytes."""

    first_row: int
    rows: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ColumnPages:
    """The pages of one column in one row group, in order; ``dictionary`` is the position of its dictionary page."""

    dictionary: tuple[int, int] | None
    pages: tuple[Page, ...]

    def holding(self, rows: Positions) -> list[Page]:
        """Return the pages that hold some of these rows, counted from the start of the row group."""
        first_rows = np.array([page.first_row for page in self.pages], np.int64)
        return [self.pages[i] for i in np.unique(np.searchsorted(first_rows, rows, "right") - 1).tolist()]

    def bytes_of(self, pages: Sequence[Page]) -> int:
        """Return the stored size of pages, with their dictionary, in bytes."""
        return sum(page.size for page in pages) + (self.dictionary[1] if self.dictionary else 0)


class PagedFile:
    """The pages of a Parquet file, located with its footer and offset indexes.

    ``footer`` is the result of ``read_footer``; ``path`` is only for messages.
    """

    def __init__(self, source: pa.NativeFile, footer: bytes, path: str) -> None:
        self._source = source
        self._footer_bytes = footer
        self._path = path
        self._size = source.size()
        self._pages: dict[tuple[int, str], ColumnPages] = {}

    def pages(self, group: int, column: str) -> ColumnPages:
        """Return the pages of a flat column in a row group.

        Raises:
            BadEncoding: the footer or the offset index does not match the file.
        """
        found = self._pages.get((group, column))
        if found is None:
            found = self._pages[group, column] = self._find_pages(group, column)
        return found

    def is_flat(self, column: str) -> bool:
        """Return whether each row has exactly one value of the column, so that pages consist of rows."""
        return column in self._elements

    def part(self, group: int, column: str, pages: Sequence[Page]) -> pa.BufferReader:
        """Return a Parquet file of one column and one row group that contains only these pages."""
        found = self.pages(group, column)
        pieces = [MAGIC]
        if found.dictionary is not None:
            pieces.append(self._read(*found.dictionary))
        data_offset = sum(map(len, pieces))
        pieces += [self._read(offset, size) for offset, size in _runs(pages)]
        body = b"".join(pieces)
        rows = sum(page.rows for page in pages)
        has_dictionary = found.dictionary is not None
        meta = self._part_meta(group, column, rows, len(body) - len(MAGIC), data_offset if has_dictionary else None)
        footer = encode_struct(self._part_footer(column, rows, meta))
        return pa.BufferReader(body + footer + FOOTER_TAIL.pack(len(footer), MAGIC))

    @cached_property
    def _footer(self) -> Struct:
        try:
            footer = decode_struct(self._footer_bytes)
            turn_int96_into_bytes(footer)
        except ValueError as error:
            raise BadEncoding(self._path, f"not a valid Parquet footer: {error}") from error
        return footer

    @cached_property
    def _elements(self) -> dict[str, Struct]:
        """The schema elements of flat columns by name."""
        flat = [(path[0], element) for path, element in leaves_of(self._footer) if len(path) == 1]
        return {name: element for name, element in flat if _number(element, _ELEMENT_REPETITION) != _REPEATED}

    @cached_property
    def _groups(self) -> list[Struct]:
        return self._footer.structs(_GROUPS)

    def _chunk(self, group: int, column: str) -> tuple[Struct, Struct]:
        for chunk in self._groups[group].structs(_GROUP_COLUMNS):
            meta = chunk.struct(_CHUNK_META)
            if meta is not None and meta.texts(_PATH) == [column]:
                return chunk, meta
        raise BadEncoding(self._path, f"row group {group} has no column chunk '{column}'")

    def _find_pages(self, group: int, column: str) -> ColumnPages:
        chunk, meta = self._chunk(group, column)
        rows = _number(self._groups[group], _GROUP_ROWS)
        data, dictionary = _number(meta, _DATA_OFFSET), _number(meta, _DICTIONARY_OFFSET)
        start = min(data, dictionary) if dictionary > 0 else data
        size = _number(meta, _COMPRESSED)
        where, length = _number(chunk, _CHUNK_INDEX_OFFSET), _number(chunk, _CHUNK_INDEX_LENGTH)
        if start < 0 or size < 0 or start + size > self._size:
            raise BadEncoding(self._path, f"column chunk '{column}' of row group {group} is outside the file")
        if where <= 0 or not 0 < length <= _MAX_INDEX_BYTES:
            return ColumnPages(None, (Page(0, rows, start, size),))
        try:
            index = decode_struct(self._read(where, length))
        except ValueError as error:
            raise BadEncoding(self._path, f"not a valid offset index of '{column}': {error}") from error
        pages = _located(index, rows)
        if not pages or not _are_within(pages, start, size):
            raise BadEncoding(self._path, f"the offset index of '{column}' does not match row group {group}")
        return ColumnPages((start, pages[0].offset - start) if pages[0].offset > start else None, pages)

    def _part_meta(self, group: int, column: str, rows: int, size: int, data_offset: int | None) -> Struct:
        _, meta = self._chunk(group, column)
        kept = [field for field in meta.fields if field.id in (_TYPE, _ENCODINGS, _PATH, _CODEC)]
        start = len(MAGIC)
        offsets = [Field(_DATA_OFFSET, I64, start if data_offset is None else data_offset)]
        if data_offset is not None:
            offsets.append(Field(_DICTIONARY_OFFSET, I64, start))
        sizes = [Field(_VALUES, I64, rows), Field(_UNCOMPRESSED, I64, size), Field(_COMPRESSED, I64, size)]
        return Struct([*kept, *sizes, *offsets])

    def _part_footer(self, column: str, rows: int, meta: Struct) -> Struct:
        root = Struct([f for f in self._footer.structs(_SCHEMA)[0].fields if f.id != _ELEMENT_CHILDREN])
        root.put_i32(_ELEMENT_CHILDREN, 1)
        chunk = Struct([Field(_CHUNK_OFFSET, I64, 0), Field(_CHUNK_META, STRUCT, meta)])
        group = Struct(
            [
                Field(_GROUP_COLUMNS, LIST, _structs(chunk)),
                Field(_GROUP_BYTES, I64, _number(meta, _COMPRESSED)),
                Field(_GROUP_ROWS, I64, rows),
            ]
        )
        return Struct(
            [
                Field(_VERSION, I32, _number(self._footer, _VERSION)),
                Field(_SCHEMA, LIST, _structs(root, self._elements[column])),
                Field(_ROWS, I64, rows),
                Field(_GROUPS, LIST, _structs(group)),
                *(field for field in self._footer.fields if field.id == _CREATED_BY and field.kind == BINARY),
            ]
        )

    def _read(self, offset: int, size: int) -> bytes:
        if offset < 0:
            raise BadEncoding(self._path, f"the bytes from {offset} on are outside the file")
        self._source.seek(offset)
        data: bytes = self._source.read(size)
        if len(data) != size:
            raise BadEncoding(self._path, f"expected {size} bytes from {offset} on, found {len(data)}")
        return data


def split_by_group(positions: Positions, group_rows: Sequence[int]) -> Iterator[tuple[int, Positions]]:
    """Yield the row groups that hold some of the rows, with the rows counted from the start of the group.

    >>> [(group, rows.tolist()) for group, rows in split_by_group(np.array([1, 5, 6]), [2, 3, 4])]
    [(0, [1]), (2, [0, 1])]
    """
    bounds = np.cumsum([0, *group_rows])
    cuts = np.searchsorted(positions, bounds)
    for group, (first, last) in enumerate(pairwise(cuts)):
        if first < last:
            yield group, positions[first:last] - bounds[group]


def rows_within(pages: Sequence[Page], rows: Positions) -> Positions:
    """Return the positions of rows of a row group, counted among the rows of these pages only.

    >>> rows_within([Page(0, 3, 0, 1), Page(6, 3, 0, 1)], np.array([2, 6, 8])).tolist()
    [2, 3, 5]
    """
    first_rows = np.array([page.first_row for page in pages], np.int64)
    starts = np.cumsum([0, *(page.rows for page in pages[:-1])])
    which = np.searchsorted(first_rows, rows, "right") - 1
    return starts[which] + rows - first_rows[which]


def _runs(pages: Sequence[Page]) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of pages; adjacent pages are combined."""
    start = stop = -1
    for page in pages:
        if page.offset != stop:
            if stop > start:
                yield start, stop - start
            start = page.offset
        stop = page.offset + page.size
    if stop > start:
        yield start, stop - start


def _located(index: Struct, rows: int) -> tuple[Page, ...]:
    found = index.structs(_LOCATIONS)
    first_rows = [_number(location, _PAGE_FIRST_ROW) for location in found]
    counts = np.diff([*first_rows, rows]).tolist()
    return tuple(
        Page(first, count, _number(location, _PAGE_OFFSET), _number(location, _PAGE_BYTES))
        for location, first, count in zip(found, first_rows, counts, strict=True)
    )


def _are_within(pages: Sequence[Page], start: int, size: int) -> bool:
    """Return whether pages follow each other within a chunk and hold its rows from the first on without gaps."""
    at = start
    for page in pages:
        if page.offset < at or page.size <= 0 or page.rows <= 0:
            return False
        at = page.offset + page.size
    return pages[0].first_row == 0 and at <= start + size


def _structs(*items: Value) -> Items:
    return Items(LIST, STRUCT, list(items))


def _number(struct: Struct, field_id: int) -> int:
    field = struct.find(field_id)
    return field.value if field is not None and isinstance(field.value, int) else 0
