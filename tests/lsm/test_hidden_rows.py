"""The rows that a merge drops are found by keys alone: the other rows of the files equal a merged read."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from table_format.errors import RetractNotSupported
from table_format.io.memory import MemoryFileIO
from table_format.lsm.hidden_rows import HiddenRows, hidden_rows, keeps_stored_rows
from table_format.model.data_file import EMPTY_ROW
from table_format.options.table_options import TableOptions
from tests.lsm.tables import SCHEMA, UB, A, Bucket, D

WRITE_ONLY = {"write-only": "true"}


def standing(bucket: Bucket) -> list[tuple[object, ...]]:
    """The rows of all files without the hidden ones."""
    reader = bucket.reader()
    hidden = hidden_rows(reader, EMPTY_ROW, 0, bucket.live, bucket.schema, bucket.parsed)
    fields = [bucket.schema.field(name) for name in ("k", "v", "s")]
    rows: list[tuple[object, ...]] = []
    for file in bucket.live:
        found = pa.Table.from_batches(reader.read(EMPTY_ROW, 0, file, fields))
        of_file = hidden.get(file.file_name)
        if of_file is not None:
            assert of_file.count == np.count_nonzero(~of_file.kept(file.row_count)) > 0
            found = found.filter(pa.array(of_file.kept(file.row_count)))
        rows += zip(*(column.to_pylist() for column in found.columns), strict=True)
    return sorted(rows, key=repr)


def test_superseded_and_retracted_rows_are_hidden():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 10), (A, 2, "b", 20), (A, 3, "c", 30))
    bucket.write((D, 2, "b", 20), (A, 3, "C", 31), (A, 4, "d", 40))
    bucket.write((D, 9, "i", 90), (A, 10, "j", 100))
    assert standing(bucket) == [(1, "a", 10), (10, "j", 100), (3, "C", 31), (4, "d", 40)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sequence.field": "s"},
        {"sequence.field": "s", "sequence.field.sort-order": "descending"},
        {"ignore-delete": "true"},
        {"merge-engine": "first-row", "ignore-delete": "true"},
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_the_remaining_rows_are_those_of_a_merged_read(options: dict[str, str], seed: int):
    chance = random.Random(f"{options} {seed}")
    bucket = Bucket({**WRITE_ONLY, **options})
    for number in range(chance.randrange(1, 9)):
        keys = chance.sample(range(200), chance.randrange(1, 90))
        kinds = [A] if number == 0 and seed % 2 else [A, A, A, D, UB]
        bucket.write(*((chance.choice(kinds), k, f"{number}", chance.choice([None, 1, 2, 3])) for k in keys))
        if chance.random() < 0.2 and "merge-engine" not in options:
            bucket.compact(full=chance.random() < 0.5)
    assert standing(bucket) == sorted(bucket.read("k", "v", "s"), key=repr)


def test_only_keys_are_read_and_of_files_that_nothing_overlaps_none():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 10), (A, 2, "b", 20))
    bucket.write((A, 5, "c", 30))
    io = bucket.store.io
    assert isinstance(io, MemoryFileIO)
    for file in bucket.live:
        io.delete(bucket.store.paths.data_file("", 0, file))
    assert hidden_rows(bucket.reader(), EMPTY_ROW, 0, bucket.live, bucket.schema, bucket.parsed) == {}


def test_an_unsupported_retract_is_an_error():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 10))
    bucket.write((D, 1, "a", 10))
    strict = TableOptions.parse({"merge-engine": "first-row"})
    with pytest.raises(RetractNotSupported):
        hidden_rows(bucket.reader(), EMPTY_ROW, 0, bucket.live, bucket.schema, strict)


@pytest.mark.parametrize(
    ("engine", "kept"), [("deduplicate", True), ("first-row", True), ("partial-update", False), ("aggregation", False)]
)
def test_engines_that_compute_values_have_no_stored_rows_to_keep(engine: str, kept: bool):
    assert keeps_stored_rows(SCHEMA, TableOptions.parse({"merge-engine": engine})) == kept


def test_the_bits_of_a_file_are_words_of_64_rows():
    hidden = np.zeros(130, np.bool_)
    hidden[[0, 2, 65]] = True
    assert HiddenRows.of(hidden).words(130).tolist() == [5, 2, 0]
