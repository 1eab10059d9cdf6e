"""Format tables: partitions found from directories, scans, and writes that are seen as a whole."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import FormatTable, Identifier, col
from table_format.errors import (
    ColumnNotFound,
    InvalidData,
    InvalidInputError,
    MetastoreUnavailable,
    MissingFile,
    UnsupportedFeature,
)
from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO
from table_format.io.memory import MemoryFileIO
from table_format.model.schema import TableSchema
from table_format.runtime import Runtime
from table_format.types import DataField, DataType, DateType, IntType, VarCharType

ROOT = "/w/db.db/t"


def table(io: FileIO | None = None, keys: dict[str, DataType] | None = None, **options: str) -> FormatTable:
    types: dict[str, DataType] = {"a": IntType(), "b": VarCharType(), **(keys or {})}
    fields = tuple(DataField(number, name, kind) for number, (name, kind) in enumerate(types.items()))
    given = {"file.format": "csv", **{key.replace("_", "."): value for key, value in options.items()}}
    schema = TableSchema(0, fields, len(fields) - 1, partition_keys=tuple(keys or ()), options=given)
    return FormatTable(Identifier("db", "t"), io or MemoryFileIO(), ROOT, schema, Runtime())


def rows(found: FormatTable, **scan: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in found.scan(**scan).to_arrow().to_pylist()), key=str)


class _Failing(MemoryFileIO):
    """Fails when the second file is created."""

    def __init__(self) -> None:
        super().__init__()
        self.created = 0

    def create(self, path: str, data: bytes) -> None:
        self.created += 1
        if self.created == 2:
            raise OSError(5, "the store failed", path)
        super().create(path, data)


def test_partitions_are_the_directories_that_exist() -> None:
    io = MemoryFileIO()
    for name in (
        "dt=2026-01-01/hh=1/x.csv",
        "dt=2026-01-01/hh=02/more/y.csv",
        "DT=2026-01-02/hh=__HIVE_DEFAULT_PARTITION__/z.csv",
        "dt=20455/hh=__DEFAULT_PARTITION__/days.csv",
        "dt=2026-01-01/hh=1/_hidden/x.csv",
        "dt=2026-01-01/hh=1/_SUCCESS",
        "dt=2026-01-01/hh=1/.x.csv.crc",
        "_temporary/dt=2026-01-01/hh=1/x.csv",
        "other/hh=1/x.csv",
        "x.csv",
    ):
        io.create(f"{ROOT}/{name}", b"1,x\n")
    found = table(io, {"dt": DateType(), "hh": IntType()})
    first, second, third = date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2)
    assert rows(found) == [
        (1, "x", first, 1),
        (1, "x", first, 2),
        (1, "x", second, None),
        (1, "x", third, None),
    ]
    assert len(found.list_partitions()) == 4
    assert found.list_partitions({"dt": "2026-01-01"}) == ("dt=2026-01-01/hh=02", "dt=2026-01-01/hh=1")


def test_a_filter_on_partitions_lists_and_reads_only_these() -> None:
    found = table(keys={"dt": VarCharType(), "hh": IntType()})
    data = pa.table({"a": [1, 2, 3], "b": ["x"] * 3, "dt": ["p", "p", "q"], "hh": pa.array([1, 2, 1], pa.int32())})
    found.append(data)
    listed: list[str] = []

    class Listing(MemoryFileIO):
        def list(self, directory: str) -> Any:
            listed.append(directory.removeprefix(ROOT))
            return found.io.list(directory)

        def open_input(self, path: str) -> Any:
            return found.io.open_input(path)

    seen = FormatTable(found.identifier, Listing(), ROOT, found.schema, found.runtime)
    assert rows(seen, filter="dt = 'p' AND hh > 1 AND a < 9") == [(2, "x", "p", 2)]
    assert listed == ["", "/dt=p", "/dt=p/hh=2"]
    assert rows(seen, filter=(col("dt") == "q") | (col("a") == 1), columns=["hh", "a"]) == [(1, 1), (1, 3)]
    assert seen.scan(filter="dt = 'nothing'").count() == 0
    assert len(seen.scan(filter="dt > 'p'").plan().splits) == 1


def test_columns_filters_and_limits_of_a_scan() -> None:
    found = table(keys={"dt": VarCharType()})
    found.append(pa.table({"a": [1, 2, 3], "b": ["x", "y", None], "dt": ["p", None, "p"]}))
    assert found.scan(["dt", "a"], limit=2).to_arrow().num_rows == 2
    assert rows(found, columns=["dt"], filter="b IS NULL") == [("p",)]
    assert found.scan(filter="a >= 2").count() == 2
    assert found.scan([]).to_arrow().num_rows == 3
    assert found.scan(filter="a > 1").to_dataset().to_table(columns=["a"]).to_pydict() == {"a": [2, 3]}
    with pytest.raises(ColumnNotFound):
        found.scan(["c"])


def test_the_rows_of_a_table_are_those_of_a_copy_in_another_process(tmp_path: Path) -> None:
    local = table(LocalFileIO())
    found = FormatTable(local.identifier, local.io, str(tmp_path / "t"), local.schema, local.runtime)
    found.append(pa.table({"a": [1], "b": ["x"]}))
    assert rows(pickle.loads(pickle.dumps(found))) == [(1, "x")]  # noqa: S301


def test_an_overwrite_replaces_a_partition_those_of_the_rows_or_all() -> None:
    found = table(keys={"dt": VarCharType(), "hh": IntType()})
    schema = found.arrow_schema

    def data(*given: tuple[Any, ...]) -> pa.Table:
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in given], schema)

    found.append(data((1, "x", "p", 1), (2, "x", "p", 2), (3, "x", None, 1)))
    found.overwrite(data((4, "y", "p", 1)))
    assert rows(found) == [(2, "x", "p", 2), (3, "x", None, 1), (4, "y", "p", 1)]
    found.overwrite(data((5, "z", "p", 7)), partition={"dt": "p"})
    assert rows(found) == [(3, "x", None, 1), (5, "z", "p", 7)]
    found.overwrite(pa.table({"a": [6], "b": ["w"], "hh": [1]}), partition={"dt": None})
    assert rows(found) == [(5, "z", "p", 7), (6, "w", None, 1)]
    found.overwrite(data(), partition={"dt": "p", "hh": 7})
    assert rows(found) == [(6, "w", None, 1)]
    with pytest.raises(InvalidData, match=r"belongs to the partition dt=q/hh=1, and only dt='p' is overwritten"):
        found.overwrite(data((7, "v", "q", 1)), partition={"dt": "p"})
    with pytest.raises(InvalidInputError, match="'a' is not a partition column"):
        found.overwrite(data(), partition={"a": 1})
    found.overwrite(data(), partition={})
    assert rows(found) == []


def test_an_overwrite_of_a_table_without_partitions_replaces_all_rows() -> None:
    found = table()
    found.append(pa.table({"a": [1], "b": ["x"]}))
    found.overwrite(pa.table({"a": [2], "b": ["y"]}))
    assert rows(found) == [(2, "y")]
    found.overwrite(pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.string())}))
    assert rows(found) == []


def test_nothing_of_a_write_that_fails_is_left_and_nothing_is_replaced() -> None:
    io = _Failing()
    found = table(io, {"dt": VarCharType()})
    found.append(pa.table({"a": [1], "b": ["old"], "dt": ["p"]}))
    two = pa.table({"a": [2, 3], "b": ["x", "x"], "dt": ["p", "q"]})
    io.created = 0
    with pytest.raises(OSError, match="the store failed"):
        found.overwrite(two)
    assert rows(found) == [(1, "old", "p")]
    bad = pa.table({"a": [2, 2**40], "b": ["x", "x"], "dt": ["p", "q"]})
    with pytest.raises(InvalidData, match="row 1"):
        found.append(bad)
    assert rows(found) == [(1, "old", "p")]


def test_large_rows_become_several_files_and_what_does_not_fit_in_memory_waits_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("table_format.format_table.write._MOST_IN_MEMORY", 100)
    found = table(**{"target-file-size": "64 b"})
    data = pa.table({"a": list(range(40)), "b": ["x" * 10] * 40})
    paths = found.append(pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=10)))
    assert len(paths) == 4
    assert found.scan().to_arrow().sort_by("a")["a"].to_pylist() == list(range(40))
    assert [child.name for child in found.io.list(ROOT) if child.is_directory] == []


def test_directories_may_have_values_alone() -> None:
    found = table(keys={"dt": VarCharType()}, **{"format-table.partition-path-only-value": "true"})
    found.append(pa.table({"a": [1, 2], "b": ["x", "y"], "dt": ["a/b", None]}))
    assert found.list_partitions() == ("__DEFAULT_PARTITION__", "a%2Fb")
    assert rows(found) == [(1, "x", "a/b"), (2, "y", None)]


def test_a_directory_that_is_no_value_of_its_column_is_named() -> None:
    io = MemoryFileIO()
    io.create(f"{ROOT}/dt=today/x.csv", b"1,x\n")
    with pytest.raises(InvalidData, match=r"/w/db\.db/t/dt=today: 'today' is not a value of the partition column 'dt'"):
        table(io, {"dt": DateType()}).scan().count()


@pytest.mark.parametrize(
    "operation",
    [
        lambda found: found.snapshots(),
        lambda found: found.create_tag("v1"),
        lambda found: found.compact(),
        lambda found: found.delete("a = 1"),
        lambda found: found.stream(),
        lambda found: found.facts,
        lambda found: found.scan(options={"scan.snapshot-id": "1"}),
    ],
)
def test_what_only_data_tables_have_is_refused_with_what_a_format_table_is(operation: Any) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'db\.t' is a format table.*a directory of plain files without"):
        operation(table())


def test_a_name_that_no_table_has_is_an_ordinary_mistake() -> None:
    with pytest.raises(AttributeError, match="'FormatTable' object has no attribute 'snapshot_of'"):
        table().snapshot_of  # type: ignore[attr-defined]  # noqa: B018


def test_rows_are_there_if_their_partitions_cannot_be_listed(caplog: pytest.LogCaptureFixture) -> None:
    class Unreachable:
        def add(self, _partitions: Any) -> None:
            raise MetastoreUnavailable("nobody answers")

        def remove(self, _partitions: Any) -> None:
            raise AssertionError

    plain = table(keys={"dt": VarCharType()})
    found = FormatTable(plain.identifier, plain.io, ROOT, plain.schema, plain.runtime, Unreachable())
    found.append(pa.table({"a": [1], "b": ["x"], "dt": ["p"]}))
    assert rows(found) == [(1, "x", "p")]
    assert "partitions of 'db.t' are not listed, so Hive does not see them: nobody answers" in caplog.text


def test_a_file_that_is_deleted_after_it_was_listed_is_named() -> None:
    found = table()
    (path,) = found.append(pa.table({"a": [1], "b": ["x"]}))
    scan = found.scan()
    (file,) = scan.plan().splits
    found.io.delete(path)
    with pytest.raises(MissingFile, match=rf"{path}.* was deleted after it had been listed; read the table again"):
        list(scan.read(file))
