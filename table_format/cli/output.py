"""Writes rows to standard output or to a file, batch by batch: as a table, CSV, JSON lines, Parquet or Arrow."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Protocol, TypeVar

import click
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pyarrow.types as pt
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from table_format.cli.session import Reading
from table_format.cli.values import csv_schema, for_csv, json_lines, shown

PAGE_ROWS: Final = 1000
"""Rows on one page of a table. Each page repeats the column names."""
FIRST_ROWS: Final = 20
"""Rows of a table that are shown without a limit."""
_WIDE: Final = 100_000
"""Width of standard output if it is not a terminal: nothing is wrapped."""

_F = TypeVar("_F", bound=Callable[..., object])


class Format(StrEnum):
    """An output format."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    ARROW = "arrow"


_BY_ENDING: Final = {
    ".csv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".parquet": Format.PARQUET,
    ".arrow": Format.ARROW,
    ".feather": Format.ARROW,
}


@dataclass(frozen=True, slots=True)
class Target:
    """The destination and format of rows. A ``path`` of ``None`` is standard output."""

    format: Format
    path: Path | None = None

    @classmethod
    def of(cls, format: str | None, output: str | None) -> Target:
        """Return the target with the given format, or that of the file extension. Standard output shows a table.

        Raises:
            click.UsageError: the extension is unknown, or a binary format would be written to a terminal.
        """
        path = None if output in (None, "-") else Path(output)
        if format is not None:
            found = Format(format)
        elif path is None:
            found = Format.TABLE
        elif path.suffix.lower() in _BY_ENDING:
            found = _BY_ENDING[path.suffix.lower()]
        else:
            message = f"the format of '{path}' is not clear from its extension; add --format"
            raise click.UsageError(message)
        if path is None and found in (Format.PARQUET, Format.ARROW) and sys.stdout.isatty():
            message = f"{found} cannot be written to a terminal; add --output FILE, or redirect the output"
            raise click.UsageError(message)
        return cls(found, path)


@dataclass(frozen=True, slots=True)
class Limited:
    """The first rows of a scan; all rows without a limit."""

    reading: Reading
    limit: int | None

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.reading.schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, read as they are taken."""
        batches = self.reading.to_batches()
        return batches if self.limit is None else _cut(batches, self.limit)


def output_options(command: _F) -> _F:
    """Add the options ``--format`` and ``--output`` of commands that show rows."""
    names = [each.value for each in Format]
    add_format = click.option("--format", "-f", type=click.Choice(names), help="The output format.")
    add_output = click.option("--output", "-o", metavar="FILE", help="Write to a file; its extension sets the format.")
    return add_format(add_output(command))


def stdout_console() -> Console:
    """Return a console on standard output: as wide as the terminal, or as wide as the rows."""
    return Console(width=None if sys.stdout.isatty() else _WIDE)


def print_grid(console: Console, grid: Grid) -> None:
    """Print a page of rows; outside a terminal, without trailing spaces."""
    if console.is_terminal:
        console.print(grid)
        return
    with console.capture() as captured:
        console.print(grid)
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    console.file.flush()


def write_rows(reading: Reading, target: Target) -> int:
    """Write all rows as a stream. Return the number of rows."""
    with closing(_generator(reading.to_batches())) as batches:
        return write_batches(reading.schema, batches, target)


def write_batches(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: Target, *, page_rows: int = PAGE_ROWS
) -> int:
    """Write batches of one schema. Return the number of rows."""
    if target.format is Format.TABLE and target.path is None:
        return _write_pages(stdout_console(), schema, batches, page_rows)
    with _sink(target.path) as sink:
        if target.format is not Format.TABLE:
            return _write_file(target, schema, _flushed(batches, sink), sink)
        text = io.TextIOWrapper(sink, encoding="utf-8")
        number = _write_pages(Console(file=text, width=_WIDE), schema, batches, page_rows)
        text.detach()  # this flushes it
        return number


def show_first(reading: Reading, number: int) -> tuple[int, bool]:
    """Show the first rows as a table. Return how many were shown, and whether these are all."""
    with closing(_generator(reading.to_batches())) as batches:
        rows = list(_rows_of(_cut(batches, number + 1)))
    _print_page(stdout_console(), reading.schema, rows[:number])
    return min(len(rows), number), len(rows) <= number


def _flushed(batches: Iterable[pa.RecordBatch], sink: BinaryIO) -> Iterator[pa.RecordBatch]:
    """Yield batches. What was written of one is visible before the next one is read, which may take long."""
    for batch in batches:
        yield batch
        sink.flush()


def _cut(batches: Iterable[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
    left = number
    for batch in batches:
        yield batch.slice(0, left)
        left -= min(left, batch.num_rows)
        if left == 0:
            return


def _generator(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
    """Return a generator of batches. Closing it stops read-ahead."""
    try:
        yield from batches
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()


@contextmanager
def _sink(path: Path | None) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when it is complete, or standard output."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _opened(beside, path) as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _opened(beside: Path, path: Path) -> BinaryIO:
    try:
        return beside.open("wb")
    except OSError as error:
        # Name the file that the user gave.
        raise type(error)(error.errno, error.strerror, str(path)) from error


# --- as a table -----------------------------------------------------------------------------------------------------


def _write_pages(console: Console, schema: pa.Schema, batches: Iterable[pa.RecordBatch], page_rows: int) -> int:
    rows = _rows_of(batches)
    number = 0
    while page := list(islice(rows, page_rows)):
        _print_page(console, schema, page)
        number += len(page)
    if number == 0:
        _print_page(console, schema, [])
    return number


def _rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[list[str]]:
    for batch in batches:
        for start in range(0, batch.num_rows, PAGE_ROWS):
            part = batch.slice(start, PAGE_ROWS)
            columns = [[shown(v) for v in column.to_pylist(maps_as_pydicts="lossy")] for column in part.columns]
            yield from map(list, zip(*columns, strict=True)) if columns else ([] for _ in range(part.num_rows))


def _print_page(console: Console, schema: pa.Schema, rows: list[list[str]]) -> None:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for field in schema:
        is_number = pt.is_integer(field.type) or pt.is_floating(field.type) or pt.is_decimal(field.type)
        grid.add_column(Text(shown(field.name)), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    print_grid(console, grid)


# --- as files -------------------------------------------------------------------------------------------------------


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch, /) -> None: ...

    def close(self) -> None: ...


def _write_file(target: Target, schema: pa.Schema, batches: Iterable[pa.RecordBatch], sink: BinaryIO) -> int:
    # Do not close the wrapper: that would close standard output.
    file = _arrow_file(sink)
    match target.format:
        case Format.CSV:
            flat = csv_schema(schema)
            return _write_with(csv.CSVWriter(sink, flat), (for_csv(batch, flat) for batch in batches))
        case Format.PARQUET:
            return _write_with(pq.ParquetWriter(file, schema), batches)
        case Format.ARROW if target.path is None:
            return _write_with(pa.ipc.new_stream(file, schema), batches)
        case Format.ARROW:
            return _write_with(pa.ipc.new_file(file, schema), batches)
    return _write_json_lines(sink, batches)


def _arrow_file(stream: BinaryIO) -> pa.NativeFile:
    return pa.PythonFile(stream, mode="w")  # type: ignore[arg-type]  # any object that writes


def _write_with(writer: _Writer, batches: Iterable[pa.RecordBatch]) -> int:
    number = 0
    with closing(writer):
        for batch in batches:
            writer.write_batch(batch)
            number += batch.num_rows
    return number


def _write_json_lines(sink: BinaryIO, batches: Iterable[pa.RecordBatch]) -> int:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, PAGE_ROWS):
            lines = json_lines(batch.slice(start, PAGE_ROWS))
            sink.write("".join(f"{line}\n" for line in lines).encode())
        number += batch.num_rows
    return number
