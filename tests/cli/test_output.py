"""Rows are written as a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from table_format.cli.output import PAGE_ROWS, Format, Limited, Target, show_first, write_batches

SCHEMA = pa.schema([("n", pa.int64())])


class Numbers:
    """A stream that counts how many batches were read."""

    schema = SCHEMA

    def __init__(self, batches: int, rows: int = 10) -> None:
        self.batches, self.rows, self.taken, self.closed = batches, rows, 0, False

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for _ in range(self.batches):
                self.taken += 1
                yield pa.RecordBatch.from_pydict({"n": list(range(self.rows))}, schema=SCHEMA)
        finally:
            self.closed = True


@pytest.mark.parametrize("format", [Format.CSV, Format.JSONL, Format.TABLE])
def test_rows_are_visible_before_later_ones_are_read(
    format: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, sizes = tmp_path / "out", []

    def watched() -> Iterator[pa.RecordBatch]:
        for batch in Numbers(3).to_batches():
            sizes.append(file.stat().st_size)
            yield batch

    with file.open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert write_batches(SCHEMA, watched(), Target(format), page_rows=10) == 30
    assert 0 < sizes[1] < sizes[2]


def test_a_long_table_is_split_into_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_batches(SCHEMA, Numbers(3, rows=PAGE_ROWS).to_batches(), Target(Format.TABLE)) == 3 * PAGE_ROWS
    assert [line.strip() for line in capsys.readouterr().out.splitlines()].count("n") == 3


def test_the_column_names_of_an_empty_result_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_batches(SCHEMA, [], Target(Format.TABLE)) == 0
    assert capsys.readouterr().out.strip() == "n"


def test_rows_that_are_not_shown_are_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = Numbers(100)
    assert show_first(numbers, 20) == (20, False)
    assert numbers.taken == 3
    assert numbers.closed
    assert len(capsys.readouterr().out.splitlines()) == 21


@pytest.mark.parametrize(("limit", "taken"), [(0, 1), (10, 1), (15, 2), (None, 5)])
def test_a_limit_stops_reading(limit: int | None, taken: int, tmp_path: Path) -> None:
    numbers = Numbers(5)
    target = Target(Format.CSV, tmp_path / "n.csv")
    reading = Limited(numbers, limit)
    assert write_batches(reading.schema, reading.to_batches(), target) == (50 if limit is None else limit)
    assert numbers.taken == taken
    assert numbers.closed
