"""A read that fails is an error of the store: never corruption, never other rows."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import CorruptionError, TableFormatError
from table_format.formats.registry import format_of
from table_format.io.local import LocalFileIO
from tests.support.decoded_once import decoded_once
from tests.support.failing_reads import FailingReads
from tests.support.matrix import MATRIX
from tests.support.tables import Warehouse, disk_warehouse, rows_of, warehouse_on

COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.float64())])
BLOOM = {"file-index.bloom-filter.columns": "v", "file-index.bloom-filter.v.items": "50"}
BESIDE = {"file-index.in-manifest-threshold": "0 b"}
TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {"bucket": "-1", **BLOOM, **BESIDE}),
    "append with deletion vectors": ([], {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "fixed buckets": (["k"], {"bucket": "1", **BLOOM}),
    "deletion vectors": (["k"], {"bucket": "1", "deletion-vectors.enabled": "true", **BLOOM, **BESIDE}),
    "dynamic buckets": (["k"], {"bucket": "-1", "dynamic-bucket.target-row-num": "20"}),
}
NUMBERS = (errno.EIO, errno.ETIMEDOUT, errno.EACCES)


@pytest.fixture(autouse=True, scope="module")
def _decoded_once() -> Iterator[None]:
    """Each trial reads the same files up to the one that cannot be read."""
    with decoded_once():
        yield


def rows(ids: range, text: str = "a") -> pa.Table:
    columns = [list(ids), [f"{text}{i}" for i in ids], [i / 3 for i in ids]]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COLUMNS, strict=True)], schema=COLUMNS)


def place(kind: str, file_format: str) -> tuple[FailingReads, Warehouse, Table]:
    io = FailingReads()
    keys, options = TABLES[kind]
    warehouse = warehouse_on(io)
    table = warehouse.table(schema=COLUMNS, primary_keys=keys, options={"file.format": file_format, **options})
    table.append(rows(range(40)))
    table.append(rows(range(40, 60), "b"))
    table.delete("k = 3")
    return io, warehouse, table


OPERATIONS: Mapping[str, Callable[[Table], object]] = {
    "scan": lambda table: sorted(rows_of(table)),
    "point read": lambda table: rows_of(table, filter="k = 7 AND v = 'a7'"),
    "append": lambda table: table.append(rows(range(55, 70), "c")),
    "delete": lambda table: table.delete("k = 9"),
    "compact": lambda table: table.compact(full=True),
}


def oserror(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def wordless(path: str) -> OSError:
    """What clients of object stores raise: no number, only a text."""
    return TimeoutError(f"no answer for {path}")


class Trial:
    """One operation on one kind of table, again and again, each time with another read that fails."""

    def __init__(self, kind: str, file_format: str, operation: str) -> None:
        self.make = partial(place, kind, file_format)
        self.act = OPERATIONS[operation]
        self.reads_only = operation in ("scan", "point read")
        self.trials = 0
        self._renew()

    def run(self) -> None:
        number = 0
        while self.fails(number):
            number += 1

    def fails(self, number: int) -> bool:
        """Try it with this read failing. Return whether there was this read."""
        make = [*(partial(oserror, n) for n in NUMBERS), wordless][number % 4]
        table = self.warehouse.reopened(self.table)
        self.io.begin(number, make)
        failure: Exception | None = None
        answer: object = None
        try:
            answer = self.act(table)
        except (OSError, TableFormatError) as error:
            failure = error
        failed = self.io.failed
        self.io.begin(None)
        if failed is None:
            assert failure is None
            return False
        self.trials += 1
        if failure is None:
            # Not every read is needed: a hint, or what follows a commit.
            assert not self.reads_only or answer == self.answer
            self._renew()
            return True
        expected = make(failed)
        assert isinstance(failure, OSError), f"read {number}, of {failed}: {failure!r}"
        assert (type(failure), failure.errno) == (type(expected), expected.errno)
        if not self.reads_only:
            assert sorted(rows_of(self.warehouse.reopened(self.table))) == self.before
        return True

    def _renew(self) -> None:
        self.io, self.warehouse, self.table = self.make()
        self.before = sorted(rows_of(self.table))
        self.answer = self.act(self.table) if self.reads_only else None


def cases() -> Iterator[tuple[str, str, str]]:
    """Kinds of tables, formats and operations; of those that write, every other one of each kind, or all."""
    for i, kind in enumerate(TABLES):
        for j, operation in enumerate(OPERATIONS):
            if operation in ("scan", "point read"):
                yield from ((kind, file_format, operation) for file_format in ("parquet", "orc", "avro"))
            elif MATRIX or (i + j) % 2:
                # They read in the same way before; ORC, which loses most of an error, stands for all formats.
                yield kind, "orc", operation


@pytest.mark.parametrize(("kind", "file_format", "operation"), [*cases()])
def test_a_read_that_fails_is_no_corruption_wherever_it_is(kind: str, file_format: str, operation: str) -> None:
    trial = Trial(kind, file_format, operation)
    trial.run()
    assert trial.trials > 3


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_disk_that_fails_in_the_middle_of_a_file_is_told_by_its_number(tmp_path: Path, file_format: str) -> None:
    options = {"file.format": file_format, **({} if file_format == "avro" else {"file.block-size": "20 kb"})}
    table = disk_warehouse(tmp_path / "w").table(schema=COLUMNS, options=options)
    table.append(rows(range(20_000)))
    (path,) = map(str, (tmp_path / "w").rglob("data-*"))
    with LocalFileIO().open_input(path) as source:
        reader = format_of(file_format).open_reader(source, path, use_threads=False)
        # This file exists and cannot be read at these places: what a broken disk answers.
        broken = os.open("/proc/self/mem", os.O_RDONLY)
        os.dup2(broken, source.fileno())
        os.close(broken)
        with pytest.raises(OSError) as caught:
            list(reader.batches(table.schema.fields, row_groups=None, batch_rows=1000))
    assert caught.value.errno == errno.EIO


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_file_that_is_really_damaged_stays_corruption(file_format: str) -> None:
    io, warehouse, table = place("append", file_format)
    split = table.scan().plan().splits[0]
    path = table.store.paths.data_file("", split.bucket, split.files[0])
    data = io.read(path)
    io.overwrite(path, data[:20] + bytes(len(data) - 40) + data[-20:])
    with pytest.raises(CorruptionError) as caught:
        warehouse.reopened(table).scan().to_arrow()
    assert caught.value.path == path
