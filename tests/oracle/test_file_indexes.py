"""File indexes of ours and of the real Paimon: the same bytes, and each skips files by those of the other.

That a file is skipped shows when it is not there any more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.formats.data_file_reader import DataFileReader
from table_format.io.file_io import FileIO
from table_format.model.arrow_types import arrow_schema
from table_format.model.manifest import ManifestEntry
from table_format.model.schema_change import SetOption
from tests.golden.test_file_indexes import payloads, stored_and_made
from tests.oracle.peer import PaimonPeer, PeerError
from tests.support.deletion_marks import live
from tests.support.tables import rows_of

TYPES = {
    "ti": "TINYINT",
    "si": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "s": "STRING",
    "c": "CHAR(5)",
    "b": "VARBINARY(40)",
    "dt": "DATE",
    "t0": "TIMESTAMP(0)",
    "t3": "TIMESTAMP(3)",
    "t6": "TIMESTAMP(6)",
    "z3": "TIMESTAMP_LTZ(3)",
    "z6": "TIMESTAMP_LTZ(6)",
}
BLOOM = "file-index.bloom-filter"
NO_STATISTICS = {"metadata.stats-mode": "none"}
UNREAD = {"file-index.read.enabled": "false"}


def row_of(n: int) -> list[Any]:
    """Values of all types, other ones for every ``n`` below 100."""
    text = "" if n == 0 else "ä€" * (n % 20) + f"-{n}"
    day = f"20{n:02}-01-{n % 28 + 1:02}"
    moment = f"{day}T00:{n % 60:02}:01"
    numbers = [n - 50, 300 * n - 15_000, 10**7 * n - 5 * 10**8, 10**16 * n - 5 * 10**17, n / 8 - 5, -n / 7]
    times = [moment, f"{moment}.{n:03}", f"{moment}.{n:06}", f"{moment}.{n:03}", f"{moment}.{n:06}"]
    return [*numbers, text, f"c{n}", f"{n:02x}" * (n % 40 + 1), day, *times]


def indexed(*columns: str, items: int = 50, **options: str) -> dict[str, str]:
    settings = {f"{BLOOM}.{c}.items": str(items) for c in columns} | {f"{BLOOM}.{c}.fpp": "0.001" for c in columns}
    return {f"{BLOOM}.columns": ",".join(columns), **settings, **{k.replace("_", "-"): v for k, v in options.items()}}


def created(paimon: PaimonPeer, warehouse: Path, columns: list[list[str]], **request: Any) -> None:
    load_catalog({"warehouse": str(warehouse)}).create_database("db")
    request = {"primary_keys": [], "partition_keys": [], **request}
    paimon.create_table(warehouse, "db.t", columns=columns, **request)


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("threshold", ["1 b", "1 mb"])
def test_the_filters_of_every_type_are_the_same_bytes(paimon: PaimonPeer, tmp_path: Path, threshold: str) -> None:
    options = indexed(*TYPES, items=30, **{"file-index.in-manifest-threshold": threshold, "bucket": "-1"})
    created(paimon, tmp_path, [list(column) for column in TYPES.items()], options=options)
    paimon.write(tmp_path, "db.t", [["+I", row_of(n)] for n in range(100)] + [["+I", [None] * len(TYPES)]])
    ((stored, made),) = stored_and_made(opened(tmp_path))
    # Which of two columns in one slot of Java's hash map is first means nothing.
    assert payloads(made) == payloads(stored)
    assert len(made) == len(stored)
    assert payloads(made).keys() == {(column, "bloom-filter") for column in TYPES}


ROW_INDEXES = {
    "bitmap": ["ti", "si", "i", "l", "f", "d", "s", "c", "dt", "t0", "t3", "t6", "z3", "z6", "bo", "tm"],
    "bsi": ["ti", "si", "i", "l", "dt", "tm", "t0", "t3", "t6", "z3", "z6", "de", "wide"],
    "range-bitmap": ["ti", "si", "i", "l", "f", "d", "s", "c", "dt", "t0", "t3", "t6", "z3", "z6", "bo", "tm", "de"],
}
MORE_TYPES = {**TYPES, "bo": "BOOLEAN", "tm": "TIME(3)", "de": "DECIMAL(12, 2)", "wide": "DECIMAL(25, 3)"}
ONLY_OF_LATER_VERSIONS = {"bsi", "range-bitmap"}
NOT_IN_0_9 = {"f", "d", "bo"}
"""Columns of types that version 0.9 makes no bitmaps of."""


def more_of(n: int) -> list[Any]:
    time = f"{n % 24:02}:{n % 60:02}:01.{n:03}"
    row = row_of(n)
    # Of whole numbers and eighths the low bits are 0: Java's map makes trees of its buckets, with another order.
    row[list(TYPES).index("f")] = n * 0.7331 - 3.017
    return [*row, n % 2 == 0, time, f"{n - 50}.25", f"{(n - 50) * 10**9}.125"]


def filler(n: int) -> list[Any]:
    """A row that repeats its values so that there are runs, pairs, and rows alone."""
    return more_of(n // 20 if n < 60 else n // 3 if n < 120 else n % 100)


@pytest.mark.parametrize(
    ("index", "settings"),
    [
        ("bitmap", {}),
        ("bitmap", {"version": "1"}),
        ("bitmap", {"index-block-size": "200 b"}),
        ("bsi", {}),
        ("range-bitmap", {}),
        ("range-bitmap", {"chunk-size": "90 b"}),
    ],
)
def test_the_row_indexes_of_every_type_are_the_same_bytes(
    paimon: PaimonPeer, tmp_path: Path, index: str, settings: dict[str, str]
) -> None:
    is_old = paimon.version.startswith("0.")
    if is_old and (index in ONLY_OF_LATER_VERSIONS or settings.get("version") != "1"):
        pytest.skip("version 0.9 makes bitmaps of version 1 only")
    columns = [name for name in ROW_INDEXES[index] if not (is_old and name in NOT_IN_0_9)]
    stated = {f"file-index.{index}.{c}.{name}": value for c in columns for name, value in settings.items()}
    options = {f"file-index.{index}.columns": ",".join(columns), **stated, "bucket": "-1"}
    created(paimon, tmp_path, [list(column) for column in MORE_TYPES.items()], options=options)
    rows = [["+I", filler(n)] for n in range(200)]
    rows[7] = rows[8] = rows[150] = ["+I", [None] * len(MORE_TYPES)]
    paimon.write(tmp_path, "db.t", rows)
    ((stored, made),) = stored_and_made(opened(tmp_path))
    differing = [key for key, payload in payloads(stored).items() if payloads(made).get(key) != payload]
    assert differing == []
    assert payloads(made).keys() == payloads(stored).keys() == {(column, index) for column in columns}


@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap"])
def test_all_nulls_and_no_nulls_are_the_same_bytes(paimon: PaimonPeer, tmp_path: Path, index: str) -> None:
    if paimon.version.startswith("0."):
        pytest.skip("version 0.9 makes bitmaps of version 1 only")
    columns = ["i", "l"]
    options = {f"file-index.{index}.columns": ",".join(columns), "bucket": "-1", "write-only": "true"}
    created(paimon, tmp_path, [["i", "INT"], ["l", "BIGINT"]], options=options)
    for rows in ([[None, None]], [[None, 1], [None, -1], [None, 0]], [[n, 2**62 - n] for n in range(70_000)]):
        paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
    pairs = stored_and_made(opened(tmp_path))
    assert len(pairs) == 3
    for stored, made in pairs:
        assert payloads(made) == payloads(stored)


@pytest.mark.parametrize("index", ["bitmap", "bsi", "range-bitmap"])
def test_each_skips_files_by_the_row_indexes_of_the_other(paimon: PaimonPeer, tmp_path: Path, index: str) -> None:
    is_old = paimon.version.startswith("0.")
    if is_old and index in ONLY_OF_LATER_VERSIONS:
        pytest.skip("version 0.9 has no such index")
    options = {
        f"file-index.{index}.columns": "v",
        **({"file-index.bitmap.v.version": "1"} if is_old else {}),
        **NO_STATISTICS,
        "bucket": "-1",
        "write-only": "true",
    }
    created(paimon, tmp_path, COLUMNS, options=options)
    ours = opened(tmp_path)
    for n in range(4):
        rows = [[10 * n + i, f"s{n}", 10 * i + n] for i in range(3)]
        if n % 2:
            paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        else:
            append(ours, rows)
    entries = sorted(live(ours), key=lambda entry: entry.file.min_sequence_number)
    assert all(entry.file.extra_files or entry.file.embedded_file_index for entry in entries)
    wanted = {n: [[10 * n + 1, f"s{n}", 10 + n]] for n in range(4)}

    def theirs(n: int) -> list[list[Any]]:
        """What it finds; version 0.9 reads the other rows of the file as well."""
        found = of_value(paimon.read_equal(tmp_path, "db.t", {"v": 10 + n}), n)
        return [row for row in found if row[2] == 10 + n] if is_old else found

    for n in range(4):
        assert theirs(n) == wanted[n]
        assert list(map(list, rows_of(ours, filter=f"v = {10 + n}"))) == wanted[n]
    lost = {entry.file.file_name for entry in entries if _rows_in(ours, entry)[0][1] in ("s0", "s2")}
    for entry in entries:
        if entry.file.file_name in lost:
            lose(ours.store.io, ours, entry)
    for n in (1, 3):
        assert theirs(n) == wanted[n]
        assert list(map(list, rows_of(ours, filter=f"v = {10 + n}"))) == wanted[n]
        with pytest.raises(PeerError):
            paimon.read_equal(tmp_path, "db.t", {"v": 10 + n}, UNREAD)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("threshold", ["1 b", "1 mb"])
def test_it_skips_files_by_indexes_that_were_made_afterwards(
    paimon: PaimonPeer, tmp_path: Path, threshold: str, keyed: bool
) -> None:
    is_old = paimon.version.startswith("0.")
    if keyed and is_old:
        pytest.skip("version 0.9 makes no indexes for files of primary-key tables")
    further = {"bucket": "1", "deletion-vectors.enabled": "true", "target-file-size": "1 b"} if keyed else {}
    options = {**NO_STATISTICS, "bucket": "-1", "write-only": "false" if keyed else "true", **further}
    created(paimon, tmp_path, COLUMNS, options=options, primary_keys=["k"] if keyed else [])
    for n in range(4):
        rows = [[10 * n + i, f"s{n}", 10 * i + n] for i in range(3)]
        if n % 2:
            paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        else:
            append(opened(tmp_path), rows)
    declared = {"file-index.bitmap.columns": "v", "file-index.in-manifest-threshold": threshold}
    if is_old:
        declared["file-index.bitmap.v.version"] = "1"
    catalog = load_catalog({"warehouse": str(tmp_path)})
    ours = catalog.alter_table("db.t", [SetOption(key, value) for key, value in declared.items()])
    data = {entry.file.file_name: entry.file.file_size for entry in live(ours)}
    assert ours.rewrite_file_index().rewritten == len(data)
    entries = live(ours)
    assert {entry.file.file_name: entry.file.file_size for entry in entries} == data
    assert all((entry.file.embedded_file_index is None) == (threshold == "1 b") for entry in entries)
    everything = sorted([10 * n + i, f"s{n}", 10 * i + n] for n in range(4) for i in range(3))
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == everything
    # Files that do not have the value may be gone.
    values = {entry.file.file_name: {row[1] for row in _rows_in(ours, entry)} for entry in entries}
    kept = {entry.file.file_name: ours.store.io.read(_path(ours, entry)) for entry in entries}
    for entry in entries:
        if not values[entry.file.file_name] & {"s1"}:
            lose(ours.store.io, ours, entry)
    found = of_value(paimon.read_equal(tmp_path, "db.t", {"v": 11}), 1)
    assert [row for row in found if row[2] == 11] == [[11, "s1", 11]]
    assert rows_of(ours, filter="v = 11") == [(11, "s1", 11)]
    with pytest.raises(PeerError):
        paimon.read_equal(tmp_path, "db.t", {"v": 11}, UNREAD)
    for entry in entries:
        if not values[entry.file.file_name] & {"s1"}:
            ours.store.io.create(_path(ours, entry), kept[entry.file.file_name])
    # It continues with the table: what it writes and compacts is based on the files with the new indexes.
    paimon.write(tmp_path, "db.t", [["+I", [99, "s9", 99]]])
    if keyed:
        paimon.compact(tmp_path, "db.t")
    assert sorted(map(list, rows_of(ours))) == [*everything, [99, "s9", 99]]


def _path(table: Table, entry: ManifestEntry) -> str:
    return table.store.paths.data_file("", entry.bucket, entry.file)


COLUMNS = [["k", "INT NOT NULL"], ["s", "STRING"], ["v", "BIGINT"]]


def append(table: Table, rows: list[list[Any]]) -> None:
    columns = arrow_schema(table.schema.fields)
    arrays = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), columns, strict=True)]
    table.append(pa.Table.from_arrays(arrays, schema=columns))


def lose(io: FileIO, table: Table, entry: ManifestEntry) -> None:
    io.delete(table.store.paths.data_file("", entry.bucket, entry.file))


def of_value(rows: list[list[Any]], n: int) -> list[list[Any]]:
    return [row for row in rows if row[1] == f"s{n}"]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("threshold", ["1 b", "1 mb"])
def test_each_skips_files_by_the_filters_of_the_other(
    paimon: PaimonPeer, tmp_path: Path, threshold: str, keyed: bool
) -> None:
    if keyed and paimon.version.startswith("0."):
        pytest.skip("version 0.9 makes no indexes for files of primary-key tables")
    further = {"bucket": "1", "deletion-vectors.enabled": "true", "target-file-size": "1 b"} if keyed else {}
    options = {
        **indexed("s", **{"file-index.in-manifest-threshold": threshold}),
        **NO_STATISTICS,
        "bucket": "-1",
        "write-only": "false" if keyed else "true",
        **further,
    }
    created(paimon, tmp_path, COLUMNS, options=options, primary_keys=["k"] if keyed else [])
    ours = opened(tmp_path)
    io = ours.store.io
    for n in range(4):
        rows = [[10 * n + i, f"s{n}", n] for i in range(3)]
        if n % 2:
            paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        else:
            append(ours, rows)
    expected = {n: [[10 * n + i, f"s{n}", n] for i in range(3)] for n in range(4)}
    entries = sorted(live(ours), key=lambda entry: entry.file.min_sequence_number)
    assert all(entry.file.extra_files or entry.file.embedded_file_index for entry in entries)
    for n in range(4):
        assert of_value(paimon.read_equal(tmp_path, "db.t", {"s": f"s{n}"}), n) == expected[n]
        assert list(map(list, rows_of(ours, filter=f"s = 's{n}'"))) == expected[n]
    # Files that do not have the value may be gone.
    rows_by_file = {entry.file.file_name: {row[1] for row in _rows_in(ours, entry)} for entry in entries}
    for entry in entries:
        if rows_by_file[entry.file.file_name] & {"s0", "s2"}:
            lose(io, ours, entry)
    for n in (1, 3):
        assert of_value(paimon.read_equal(tmp_path, "db.t", {"s": f"s{n}"}), n) == expected[n]
        assert list(map(list, rows_of(ours, filter=f"s = 's{n}'"))) == expected[n]
        with pytest.raises(PeerError):
            paimon.read_equal(tmp_path, "db.t", {"s": f"s{n}"}, UNREAD)


def _rows_in(table: Table, entry: ManifestEntry) -> list[tuple[Any, ...]]:
    facts = table.facts
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    batches = reader.read(entry.partition, entry.bucket, entry.file, facts.schema.fields)
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


def test_it_reads_maps_and_upserts_of_ours_and_goes_on_with_them(paimon: PaimonPeer, tmp_path: Path) -> None:
    columns = pa.schema(
        [
            pa.field("k", pa.int32(), nullable=False),
            *[("s", pa.string()), ("v", pa.int64()), ("m", pa.map_(pa.string(), pa.string()))],
        ]
    )
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    options = {**indexed("k", "s", "m[a]"), "bucket": "1"}
    ours = catalog.create_table("db.t", Schema.from_arrow(columns, ["k"], options=options))
    append(ours, [[k, f"s{k}", k, [("a", str(k))]] for k in range(20)])
    paimon.write(tmp_path, "db.t", [["+I", [5, "five", 5, [["a", "x"]]]], ["-D", [6, None, None, None]]])
    append(ours, [[7, "seven", 7, None]])
    paimon.compact(tmp_path, "db.t")
    ours.compact(full=True)
    theirs = paimon.read(tmp_path, "db.t")["rows"]
    assert len(theirs) == len(rows_of(ours)) == 19
    assert {row[0]: row[1] for row in theirs} == {row[0]: row[1] for row in rows_of(ours)}
    assert [row[:3] for row in rows_of(ours, filter="s = 'five'")] == [(5, "five", 5)]
    assert rows_of(ours, filter="k = 6") == []
