"""Key lookups in bloom filters read few bytes, and damaged files do not change their results."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.formats import parquet_reader
from table_format.io.local import LocalFileIO
from table_format.model.types import DataField
from tests.support.deletion_marks import live
from tests.support.tables import rows_of

ROWS = 2_000
FILES = 4
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("kind", pa.string()), ("more", pa.int64())])
INDEXES = {
    "file-index.bloom-filter.columns": "id,name",
    **{f"file-index.bloom-filter.{column}.items": str(ROWS) for column in ("id", "name")},
    **{f"file-index.bloom-filter.{column}.fpp": "0.001" for column in ("id", "name")},
    "file-index.in-manifest-threshold": "1 b",
    "metadata.stats-mode": "none",
}
BITMAPS = {"file-index.bitmap.columns": "id,name,kind"}
"""With these options, an index file has 64 KB, and its name contains the hash of its filters."""

_T = TypeVar("_T")


def rows(number: int) -> pa.Table:
    ids = range(number, ROWS * FILES, FILES)
    columns = [list(ids), [f"n{i}" for i in ids], ["ab"[i % 2] for i in ids], [i * 3 for i in ids]]
    return pa.table(columns, schema=COLUMNS)


def table_in(directory: Path, more: dict[str, str] | None = None) -> Table:
    catalog = load_catalog({"warehouse": str(directory)})
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema.from_arrow(COLUMNS, options={**INDEXES, **(more or {})}))
    for number in range(FILES):
        table.append(rows(number))
    return table


def index_paths(table: Table) -> list[str]:
    paths = table.store.paths
    return [path for entry in live(table) for path in paths.extra_files("", entry.bucket, entry.file)]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of bytes of each read of an index file."""
    found: list[int] = []
    read_parts, read = LocalFileIO.read_parts, LocalFileIO.read

    def noted_parts(io: LocalFileIO, path: str, take: Callable[[int, Callable[[int, int], bytes]], _T]) -> _T:
        def with_note(size: int, part: Callable[[int, int], bytes]) -> _T:
            def noted(start: int, length: int) -> bytes:
                data = part(start, length)
                found.append(len(data))
                return data

            return take(size, noted)

        return read_parts(io, path, with_note)

    def noted_read(io: LocalFileIO, path: str) -> bytes:
        data = read(io, path)
        if path.endswith(".index"):
            found.append(len(data))
        return data

    monkeypatch.setattr(LocalFileIO, "read_parts", noted_parts)
    monkeypatch.setattr(LocalFileIO, "read", noted_read)
    return found


@pytest.mark.parametrize("more", [{}, BITMAPS], ids=["whole", "in parts"])
def test_a_second_lookup_reads_only_the_filter_of_its_column(
    more: dict[str, str], tmp_path: Path, reads: list[int]
) -> None:
    table = table_in(tmp_path, more)
    assert all((Path(path).stat().st_size >= 64 * 1024) == bool(more) for path in index_paths(table))
    assert rows_of(table, filter="id = -1") == []
    first = list(reads)
    reads.clear()
    assert rows_of(table, filter="name = 'none'") == []
    assert len(reads) == FILES
    assert sum(reads) < sum(first) / 2
    assert rows_of(table, filter="id = 5 AND more = 15") == [(5, "n5", "b", 15)]


@pytest.mark.parametrize("more", [{}, BITMAPS], ids=["whole", "in parts"])
def test_no_damage_between_two_lookups_changes_a_result(
    more: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = table_in(tmp_path, more)
    questions = {"id = 5": 1, "name = 'n9'": 1, "id IN (7, -3)": 1, "name = 'n2' OR id = 3": 2, "id = -1": 0}
    for question, count in questions.items():
        assert len(rows_of(table, filter=question)) == count
    chance = random.Random(7)
    path = Path(index_paths(table)[1])
    sound = path.read_bytes()
    caplog.set_level(logging.WARNING)
    noticed = 0
    for number in range(30):
        damaged = bytearray(sound)
        start = chance.randrange(len(sound))
        damaged[start : start + 800] = bytes(len(damaged[start : start + 800]))
        path.write_bytes(bytes(damaged) if number % 6 else bytes(damaged[:start]))
        caplog.clear()
        for question, count in questions.items():
            assert len(rows_of(table, filter=question)) == count, (number, question)
        noticed += str(path) in caplog.text
    assert noticed > 10
    path.unlink()
    caplog.clear()
    assert len(rows_of(table, filter="id = 5")) == 1
    assert str(path) in caplog.text


def test_an_index_file_that_was_replaced_is_not_used(tmp_path: Path) -> None:
    table = table_in(tmp_path, BITMAPS)
    assert rows_of(table, filter="id = 5") == [(5, "n5", "b", 15)]
    paths = [Path(path) for path in index_paths(table)]
    other = paths[0].read_bytes()
    for path in paths[1:]:
        path.write_bytes(other)
    assert rows_of(table, filter="id = 5") == [(5, "n5", "b", 15)]


def test_only_the_columns_of_the_condition_are_read_from_a_file_without_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The filters are so small that they exclude no file.
    table = table_in(tmp_path, {"file-index.bloom-filter.id.items": "1"})
    read: list[list[str]] = []
    decoded = parquet_reader.ParquetFileReader._decoded

    def noted(reader: Any, fields: list[DataField], *arguments: Any) -> Any:
        read.append([field.name for field in fields])
        return decoded(reader, fields, *arguments)

    monkeypatch.setattr(parquet_reader.ParquetFileReader, "_decoded", noted)
    assert rows_of(table, filter="id = 5") == [(5, "n5", "b", 15)]
    assert sorted(read) == [*([["id"]] * FILES), ["id", "name", "kind", "more"]]


CONDITIONS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "id IN (1, 6, 7)": lambda id, name, kind: id in (1, 6, 7),
    "id = 6 AND kind = 'a'": lambda id, name, kind: id == 6 and kind == "a",
    "name = 'n7' OR id >= 7990": lambda id, name, kind: name == "n7" or id >= 7990,
}


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_lookups_return_the_same_rows_as_full_scans(file_format: str, tmp_path: Path) -> None:
    table = table_in(tmp_path, {"file.format": file_format, "file-index.bloom-filter.id.items": "1"})
    table.delete("id = 7")
    for condition, is_wanted in CONDITIONS.items():
        expected = [row for row in rows_of(table) if is_wanted(*row[:3])]
        assert expected
        assert sorted(rows_of(table, filter=condition)) == sorted(expected)
