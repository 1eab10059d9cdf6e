"""Reads CSV files line by line, as Java Paimon does: a quoted value ends with its line.

Arrow splits lines whose quotes are usual; other lines, and those with too few or too many values, are split by
``csv_line``. A missing value is null, and values beyond the last column are ignored. The option ``csv.mode`` decides
about values that do not fit their column.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from table_format.errors import BadEncoding, InvalidData
from table_format.format_table.csv_line import split_line
from table_format.format_table.lines import line_blocks, split_lines
from table_format.format_table.text_values import Mask, from_text
from table_format.model.arrow_calls import arrow_array, concat_batches
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField
from table_format.options.format_table import DROP_MALFORMED, FAIL_FAST, FormatTableOptions

_BLANK: Final = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file: its path, for messages, the columns in it, and how it is written."""

    path: str
    columns: Sequence[DataField]
    options: FormatTableOptions

    def batches(self, source: pa.NativeFile, wanted: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
        """Yield some columns, at least one.

        Raises:
            BadEncoding: the file is not UTF-8. InvalidData: a value does not fit, and ``csv.mode`` is ``failfast``.
        """
        skips_line = self.options.header
        for block in line_blocks(source, self.path):
            rows = _without_first_line(block) if skips_line else block
            skips_line = False
            if rows:
                yield self._typed(self._texts(rows, [field.name for field in wanted]), wanted)

    def _texts(self, block: bytes, wanted: Sequence[str]) -> pa.RecordBatch:
        options = self.options
        quote, escape = options.quote_character, options.escape_character
        # Without quotes, Arrow splits every line, and an escape character protects a delimiter, as in Hive.
        special = [] if quote is None else [c.encode() for c in (quote, escape) if c is not None]
        if not any(character in block for character in special):
            return self._split(block, None, wanted)
        lines = self._decoded(split_lines(block))
        usual = pc.match_substring_regex(lines, _usual_line(options)).to_numpy(zero_copy_only=False)
        if usual.all():
            return self._split(block, lines, wanted)
        others = self._split_slowly(_texts_of(lines.filter(arrow_array(~usual))), wanted)
        if not usual.any():
            return others
        kept = lines.filter(arrow_array(usual))
        rows = self._split("\n".join(_texts_of(kept)).encode() + b"\n", kept, wanted)
        return _in_places(rows, np.flatnonzero(usual), others, np.flatnonzero(~usual))

    def _decoded(self, lines: list[bytes]) -> pa.Array:
        try:
            return arrow_array(lines, pa.binary()).cast(pa.string())
        except pa.ArrowInvalid as error:
            raise BadEncoding(self.path, f"expected text in UTF-8: {error}") from error

    def _split(self, block: bytes, lines: pa.Array | None, wanted: Sequence[str]) -> pa.RecordBatch:
        """Split a block whose quotes are usual. ``lines`` are its lines, if they are known."""
        odd: list[str] = []
        odd_rows: list[int] = []

        def keep(row: arrow_csv.InvalidRow) -> Literal["skip"]:
            odd.append(row.text)
            odd_rows.append(cast("int", row.number) - 1)
            return "skip"

        options, names = self.options, [field.name for field in self.columns]
        try:
            table = arrow_csv.read_csv(
                io.BytesIO(block),
                # Arrow numbers the lines that it skips only if it reads with one thread.
                read_options=arrow_csv.ReadOptions(
                    column_names=names, use_threads=False, block_size=max(len(block), 1)
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=options.field_delimiter,
                    quote_char=options.quote_character or False,
                    escape_char=options.escape_character or False,
                    ignore_empty_lines=False,
                    invalid_row_handler=keep,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[options.null_literal],
                    strings_can_be_null=True,
                    include_columns=list(wanted),
                ),
            )
        except pa.ArrowInvalid as error:
            raise BadEncoding(self.path, f"expected lines of text in UTF-8: {error}") from error
        rows = _one_batch(table)
        places = np.array(odd_rows, np.int64)
        usual = np.setdiff1d(np.arange(len(rows) + len(odd)), places)
        if len(names) == 1:
            rows = _blank_as_null(rows, rows.column(0) if lines is None else lines.take(arrow_array(usual)))
        return _in_places(rows, usual, self._split_slowly(odd, wanted), places) if odd else rows

    def _split_slowly(self, lines: Sequence[str], wanted: Sequence[str]) -> pa.RecordBatch:
        positions = [[field.name for field in self.columns].index(name) for name in wanted]
        rows = [[] if _BLANK.fullmatch(line) else split_line(line, self.options) for line in lines]
        columns = [[row[p] if p < len(row) else None for row in rows] for p in positions]
        literal = self.options.null_literal
        arrays = [arrow_array([None if v == literal else v for v in column], pa.string()) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(wanted))

    def _typed(self, texts: pa.RecordBatch, wanted: Sequence[DataField]) -> pa.RecordBatch:
        columns: list[pa.Array] = []
        bad: Mask | None = None
        for field, column in zip(wanted, texts.columns, strict=True):
            values, misfits = from_text(column, field.type)
            if misfits is not None:
                if self.options.mode == FAIL_FAST:
                    self._refuse(field, column, misfits)
                bad = misfits if bad is None else bad | misfits
            columns.append(values)
        batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(wanted))
        if bad is not None and self.options.mode == DROP_MALFORMED:
            return batch.filter(arrow_array(~bad))
        return batch

    def _refuse(self, field: DataField, column: pa.Array, misfits: Mask) -> None:
        found = column[int(np.flatnonzero(misfits)[0])].as_py()
        message = (
            f"{self.path}: {found!r} is not a value of column '{field.name}', which is {field.type}; correct the file, "
            "or set the option 'csv.mode' to 'permissive' to read such values as null"
        )
        raise InvalidData(message)


def _usual_line(options: FormatTableOptions) -> str:
    """Return the pattern of lines that Arrow splits as Java does: values are quoted as a whole or not at all, and only
    quotes and escape characters are escaped, within quotes.
    """
    d, q, e = (
        "" if c is None else _in_class(c)
        for c in (options.field_delimiter, options.quote_character, options.escape_character)
    )
    inside = f"[^{q}{e}]|[{q}][{q}]" + (f"|[{e}][{q}{e}]" if e else "")
    value = f"(?:[^{d}{q}{e}]*|[{q}](?:{inside})*[{q}])"
    return f"^{value}(?:[{d}]{value})*$"


def _in_class(character: str) -> str:
    return rf"\x{ord(character):02x}"


def _texts_of(lines: pa.Array) -> list[str]:
    return cast("list[str]", lines.to_pylist())


def _blank_as_null(rows: pa.RecordBatch, lines: pa.Array) -> pa.RecordBatch:
    """Make the only column null where the whole line is blank."""
    column = rows.column(0)
    blank = pc.match_substring_regex(lines, r"^\s*$").fill_null(True)
    return pa.RecordBatch.from_arrays(
        [pc.if_else(blank, pa.scalar(None, pa.string()), column)], names=rows.schema.names
    )


def _in_places(
    rows: pa.RecordBatch, places: np.ndarray, others: pa.RecordBatch, other_places: np.ndarray
) -> pa.RecordBatch:
    """Return the rows of both batches, each in its place."""
    order = np.argsort(np.concatenate([places, other_places]), kind="stable")
    return concat_batches([rows, others]).take(arrow_array(order))


def _without_first_line(block: bytes) -> bytes:
    end = re.search(rb"\r\n|\n|\r", block)
    return block[end.end() :] if end else b""


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    whole = table.combine_chunks()
    batches = whole.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=whole.schema)
