"""Sizes of buffers with which Apache Paimon cannot write a table, because its memory consists of pages.

Java ``SortBufferWriteBuffer``, ``BinaryIndexedSortable`` and ``BinaryRowSerializer``. A row in memory has 8 bytes for
each column, and bits for nulls. This part must fit in a page. Paimon does not check it, and fails or reads back other
rows than it has buffered. Without the option ``page-size``, any buffer is allowed: this library writes with it.
"""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.options.bucket_mode import CrossPartition, bucket_mode
from table_format.options.hints import PAGE_SIZE, WRITE_BUFFER_FOR_APPEND
from table_format.options.table_options import TableOptions
from table_format.options.values import MAX_INT
from table_format.options.write import BUFFER_SIZE

MEMORY_KEYS = frozenset(option.key for option in (BUFFER_SIZE, PAGE_SIZE, WRITE_BUFFER_FOR_APPEND))
"""Options that decide how many pages the write buffer needs, and how many it has."""

_PAGES_OF_A_SORT = 3
_WORD = 8
_LENGTH = 4
"""Bytes before each row in memory: its length."""


def check_memory(schema: TableSchema, options: TableOptions) -> None:
    """Refuse ``page-size`` if no row fits in a page, or if the write buffer has too few or too many of them.

    Raises:
        InvalidOption: names the option, its value and what is allowed.
    """
    if PAGE_SIZE.key not in options.raw or not (schema.primary_keys or WRITE_BUFFER_FOR_APPEND.read(options.raw)):
        return
    page, size = PAGE_SIZE.read(options.raw), options.write.buffer_size
    shown_page, shown_size = PAGE_SIZE.parser.show(page), BUFFER_SIZE.parser.show(size)
    needed = _bytes_before_the_values(schema)
    if page < needed:
        message = (
            f"is {shown_page}; Apache Paimon needs pages of at least {needed} bytes to write this table, because it "
            f"keeps {needed} bytes of each row with {len(schema.fields)} columns together"
        )
        raise InvalidOption(PAGE_SIZE.key, message)
    pages = _least_pages(schema, options)
    if pages <= size // page <= MAX_INT:
        return
    if BUFFER_SIZE.key in options.raw:
        message = (
            f"is {shown_size}; Apache Paimon can write this table with {BUFFER_SIZE.parser.show(pages * page)} to "
            f"{MAX_INT * page} b, which are {pages} to {MAX_INT} pages ('{PAGE_SIZE.key}' = {shown_page})"
        )
        raise InvalidOption(BUFFER_SIZE.key, message)
    message = (
        f"is {shown_page}; Apache Paimon can write this table with '{BUFFER_SIZE.key}' = {shown_size} only if that is "
        f"at least {pages} pages; set a smaller page or a larger buffer"
    )
    raise InvalidOption(PAGE_SIZE.key, message)


def _least_pages(schema: TableSchema, options: TableOptions) -> int:
    if not schema.primary_keys:
        return 1
    if isinstance(bucket_mode(schema, options.bucket), CrossPartition):
        return 2 * _PAGES_OF_A_SORT  # half of the buffer is for the index of keys
    return _PAGES_OF_A_SORT


def _bytes_before_the_values(schema: TableSchema) -> int:
    columns = len(schema.fields)
    if schema.primary_keys:
        # Rows have their key first, a sequence number and a row kind.
        columns += len(set(schema.primary_keys) - set(schema.partition_keys)) + 2
    header_bits = columns + _WORD
    return _LENGTH + _WORD * (-(-header_bits // 64) + columns)
