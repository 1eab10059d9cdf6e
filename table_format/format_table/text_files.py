"""Files whose lines are the values of one text column (Java ``TextFileFormat``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import BadEncoding, InvalidData
from table_format.format_table.lines import line_blocks, split_lines
from table_format.model.arrow_calls import arrow_array
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField
from table_format.options.format_table import FormatTableOptions


def read_text(source: pa.NativeFile, path: str, wanted: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file.

    Raises:
        BadEncoding: the file is not UTF-8.
    """
    for block in line_blocks(source, path):
        try:
            lines = arrow_array(split_lines(block), pa.binary()).cast(pa.string())
        except pa.ArrowInvalid as error:
            raise BadEncoding(path, f"expected text in UTF-8: {error}") from error
        yield pa.RecordBatch.from_arrays([lines], schema=arrow_schema(wanted))


def text_bytes(rows: pa.RecordBatch, fields: Sequence[DataField], options: FormatTableOptions) -> bytes:
    r"""Return the lines of rows. A null becomes an empty line.

    >>> from table_format.model.types import VarCharType
    >>> text_bytes(pa.RecordBatch.from_pydict({"a": ["x", None]}), [DataField(0, "a", VarCharType())],
    ...     FormatTableOptions())
    b'x\n\n'

    Raises:
        InvalidData: a text has an end of a line.
    """
    texts = rows.column(0)
    broken = pc.match_substring_regex(texts, "[\r\n]")
    if pc.any(broken).as_py():
        text = texts[pc.index(broken, value=True).as_py()].as_py()
        message = f"column '{fields[0].name}': a file of lines cannot hold the end of a line, as in {text!r}"
        raise InvalidData(message)
    return "".join(f"{text or ''}{options.line_delimiter}" for text in texts.to_pylist()).encode()
