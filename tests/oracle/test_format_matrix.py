"""Every type in every file format, nullable and not, with and without a primary key: we and the real Paimon agree.

Tables hold all types at once; what one of the sides cannot do with a type is said next to the name of its column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.codecs.type_json import type_json
from table_format.formats.registry import format_of
from table_format.model.types import DataField, IntType, TimestampType, VarCharType
from table_format.options.file_formats import FILE_FORMATS
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows
from tests.support.matrix import combinations
from tests.support.typed_rows import columns, fields_of, rows_of

FORMATS = ("parquet", "orc", "avro")
MATRIX = combinations(FORMATS, (False, True), (False, True))

_MULTISET_OF_NUMBERS = frozenset({"bag_of_numbers"})
NOT_READ: dict[tuple[str, str], frozenset[str]] = {
    # It takes every MULTISET for a map of texts.
    ("2.0.0", "avro"): _MULTISET_OF_NUMBERS,
    ("1.4.2", "avro"): _MULTISET_OF_NUMBERS,
    ("0.9.0", "avro"): _MULTISET_OF_NUMBERS,
    # Of its own files, too, it reads other values: elements that are NOT NULL, and rows of nulls inside of others.
    ("0.9.0", "parquet"): _MULTISET_OF_NUMBERS | {"a_strict", "a_r", "m_r", "bag", "r", "r_strict", "a_r_strict"},
}
"""Columns that a version of the real Paimon cannot read or write in a format."""

NO_CODEC: frozenset[tuple[str, str, str]] = frozenset()
"""Compressions that a version of the real Paimon cannot read."""


def without(paimon: PaimonPeer, file_format: str) -> frozenset[str]:
    return NOT_READ.get((paimon.version, file_format), frozenset())


def our_table(warehouse: Path, fields: list[DataField], options: dict[str, str], *, keyed: bool) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    given = {**({"bucket": "1"} if keyed else {}), **options}
    catalog.create_table("db.t", Schema(tuple(fields), primary_keys=("id",) if keyed else (), options=given))
    return catalog.load_table("db.t")


@pytest.mark.parametrize(("file_format", "keyed", "strict"), MATRIX)
def test_what_we_write_the_real_paimon_reads(
    paimon: PaimonPeer, tmp_path: Path, file_format: str, keyed: bool, strict: bool
) -> None:
    wanted = columns(file_format, strict=strict, without=without(paimon, file_format))
    fields = fields_of(wanted)
    table = our_table(tmp_path, fields, {"file.format": file_format}, keyed=keyed)
    rows = rows_of(wanted, fields)
    table.append(rows)
    table.append(rows.slice(0, 3))
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    expected = rows if keyed else pa.concat_tables([rows, rows.slice(0, 3)])
    assert same(json_rows(table.scan().to_arrow(), fields), json_rows(expected, fields))
    assert all(name.endswith(f".{file_format}") for name in data_files(tmp_path))


@pytest.mark.parametrize(("file_format", "keyed", "strict"), MATRIX)
def test_what_the_real_paimon_writes_we_read(
    paimon: PaimonPeer, tmp_path: Path, file_format: str, keyed: bool, strict: bool
) -> None:
    wanted = columns(file_format, strict=strict, without=without(paimon, file_format))
    fields = fields_of(wanted)
    options = {"file.format": file_format, "bucket": "1" if keyed else "-1"}
    shape = [[f.name, type_json(f.type)] for f in fields]
    keys = ["id"] if keyed else []
    paimon.create_table(tmp_path, "db.t", columns=shape, primary_keys=keys, partition_keys=[], options=options)
    paimon.write(tmp_path, "db.t", [["+I", row] for row in json_rows(rows_of(wanted, fields), fields)])
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    table.append(rows_of(wanted, fields).slice(0, 2))
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")


@pytest.mark.parametrize("file_format", FORMATS)
def test_thin_files_have_no_key_columns_and_both_read_them(
    paimon: PaimonPeer, tmp_path: Path, file_format: str
) -> None:
    if paimon.version == "0.9.0":
        pytest.skip("Paimon 0.9.0 does not know thin files")
    fields = [
        DataField(0, "id", IntType(nullable=False)),
        DataField(1, "s", VarCharType()),
        DataField(2, "v", IntType()),
    ]
    options = {"file.format": file_format, "data-file.thin-mode": "true"}
    table = our_table(tmp_path, fields, options, keyed=True)
    table.append(pa.table({"id": pa.array([3, 1], pa.int32()), "s": ["c", "a"], "v": pa.array([30, 10], pa.int32())}))
    (file,) = tmp_path.glob("db.db/t/bucket-0/data-*")
    assert column_names(file) == ("_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "s", "v")
    paimon.write(tmp_path, "db.t", [["+U", [1, "A", 11]], ["-D", [3, "c", 30]], ["+I", [2, "b", 20]]])
    table.append(pa.table({"id": pa.array([2], pa.int32()), "s": ["B"], "v": pa.array([21], pa.int32())}))
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    paimon.compact(tmp_path, "db.t")
    table.compact(full=True)
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    assert {len(column_names(path)) for path in tmp_path.glob("db.db/t/bucket-0/data-*")} == {5}


def test_levels_of_different_formats_and_compressions_read_equal(paimon: PaimonPeer, tmp_path: Path) -> None:
    wanted = columns("avro", without=without(paimon, "avro") | without(paimon, "parquet"))
    fields = fields_of(wanted)
    options = {
        "file.format.per.level": "0:avro,5:orc",
        "file.compression.per.level": "0:snappy,5:zlib",
        "num-sorted-run.compaction-trigger": "5",
    }
    table = our_table(tmp_path, fields, options, keyed=True)
    rows = rows_of(wanted, fields)
    for start in range(3):
        table.append(rows.slice(start, 4))
    assert {name.rpartition(".")[2] for name in data_files(tmp_path)} == {"avro"}
    table.compact(full=True)
    assert {name.rpartition(".")[2] for name in data_files(tmp_path)} == {"avro", "orc"}
    paimon.write(tmp_path, "db.t", [["+I", row] for row in json_rows(rows, fields)])
    paimon.compact(tmp_path, "db.t")
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")


@pytest.mark.parametrize(("file_format", "codec"), [(f.name, c) for f in FILE_FORMATS.values() for c in f.codecs])
def test_every_compression_of_every_format_reads_equal(
    paimon: PaimonPeer, tmp_path: Path, file_format: str, codec: str
) -> None:
    if (paimon.version, file_format, codec) in NO_CODEC:
        pytest.skip(f"Paimon {paimon.version} lacks {codec} in {file_format}")
    fields = [DataField(0, "id", IntType(nullable=False)), DataField(1, "s", VarCharType())]
    level = {"file.compression.zstd-level": "9"} if codec == "zstd" else {}
    options = {"file.format": file_format, "file.compression": codec, **level}
    table = our_table(tmp_path, fields, options, keyed=False)
    ids = range(3000)
    table.append(pa.table({"id": pa.array(ids, pa.int32()), "s": [f"text {i % 7}" for i in ids]}))
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") == 1


def same(found: list[Any], expected: list[Any]) -> bool:
    # As text, in which NaN equals NaN.
    return repr(found) == repr(expected)


def data_files(warehouse: Path) -> list[str]:
    return [path.name for path in warehouse.glob("db.db/t/**/data-*")]


def column_names(file: Path) -> tuple[str, ...]:
    with pa.OSFile(str(file)) as source:
        return format_of(file.name).open_reader(source, str(file), use_threads=False).column_names


@pytest.mark.parametrize("keyed", [False, True])
def test_rows_that_our_orc_lacks_stay_in_parquet_where_the_real_paimon_reads_them_and_its_compaction_changes_them(
    paimon: PaimonPeer, tmp_path: Path, keyed: bool
) -> None:
    fields = [DataField(0, "id", IntType(nullable=False)), DataField(1, "at", TimestampType(6))]
    table = our_table(tmp_path, fields, {}, keyed=keyed)
    at = pa.array([-1, -1_000, 1_577_836_800_000_001, None]).cast(pa.timestamp("us"))
    rows = pa.table({"id": pa.array(range(4), pa.int32()), "at": at})
    table.append(rows)
    table.append(rows if keyed else rows.slice(0, 0))
    paimon.alter_options(tmp_path, "db.t", {"file.format": "orc"})
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.load_table("db.t").append(rows.slice(2))
    catalog.load_table("db.t").compact(full=True)
    assert {name.rpartition(".")[2] for name in data_files(tmp_path)} == {"parquet", "orc"}
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    if not keyed:
        return
    paimon.write(tmp_path, "db.t", [["+I", [9, None]]])
    paimon.compact(tmp_path, "db.t")
    # Its ORC moves a fraction of a second before 1970 by one second.
    moments = ["1970-01-01T00:00:00.999999", "1970-01-01T00:00:00.999000", "2020-01-01T00:00:00.000001", None, None]
    expected = [[key, moment] for key, moment in zip((0, 1, 2, 3, 9), moments, strict=True)]
    assert paimon.read(tmp_path, "db.t")["rows"] == expected
