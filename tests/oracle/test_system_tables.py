"""System tables of one table that this library wrote, as the real Paimon shows them and as this library does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.catalog.protocol import Catalog
from table_format.model.schema_change import AddColumn
from table_format.model.types import VarCharType
from table_format.table.system.registry import SYSTEM_TABLES
from table_format.table.system.table import SystemTable
from tests.oracle.install import LATEST
from tests.oracle.peer import PaimonPeer, PeerError
from tests.support.json_rows import json_rows, sorted_rows
from tests.support.system_rows import MODIFIED, differences
from tests.support.system_tables import OF_EVERY_TABLE

NEWER = frozenset({"binlog", "buckets", "file_key_ranges", "table_indexes"})
"""System tables that 0.9.0 does not have."""
NEWEST = frozenset({"file_indexes"})
"""System tables that no release has yet."""

KEYED = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("ts", pa.timestamp("ms")),
        pa.field("f", pa.float64()),
    ]
)
PLAIN = pa.schema([pa.field("id", pa.int32()), pa.field("s", pa.string()), pa.field("d", pa.float64())])


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tables: with keys, partitions, tags, branches and consumers; plain and analyzed; empty."""
    directory = tmp_path_factory.mktemp("system") / "warehouse"
    catalog = load_catalog({"warehouse": str(directory)})
    catalog.create_database("db")
    options = {"bucket": "2", "snapshot.time-retained": "5 h"}
    keyed = catalog.create_table("db.keyed", Schema.from_arrow(KEYED, ["id", "day"], ["day"], options))
    for first in (0, 20, 10):
        keyed.append(_rows(range(first, first + 30)))
    keyed.compact(full=True)
    keyed.create_tag("t1", 1)
    keyed.create_tag("kept", 2, time_retained_ms=3_600_000)
    keyed.create_branch("b1", tag="t1")
    keyed.reset_consumer("id1", 1)
    keyed.reset_consumer("id2", 3)
    catalog.alter_table("db.keyed", AddColumn("more", VarCharType(), comment="later"))
    changed = catalog.load_table("db.keyed")
    assert isinstance(changed, Table)
    changed.append(_rows(range(5)).append_column("more", pa.array(["x"] * 5)))
    plain = catalog.create_table("db.plain", Schema.from_arrow(PLAIN))
    plain.append(pa.table({"id": [1, 2, 3], "s": ["a", None, "ccc"], "d": [0.5, None, -1.0]}, PLAIN))
    plain.analyze(["id", "s", "d"])
    catalog.create_table("db.empty", Schema.from_arrow(PLAIN))
    return directory


def _rows(ids: range) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "id": list(ids),
        "day": [19_700 + i % 3 for i in ids],
        "name": [None if i % 7 == 0 else f"name {i}" for i in ids],
        "price": [f"{i}.50" for i in ids],
        "ts": [1_700_000_000_123 + i for i in ids],
        "f": [i / 7 for i in ids],
    }
    arrays = [pa.array(columns["id"], pa.int64()), pa.array(columns["day"], pa.int32()).cast(pa.date32())]
    arrays += [pa.array(columns["name"], pa.string()), pa.array(columns["price"]).cast(pa.decimal128(10, 2))]
    arrays += [pa.array(columns["ts"], pa.timestamp("ms")), pa.array(columns["f"], pa.float64())]
    return pa.Table.from_arrays(arrays, schema=KEYED)


@pytest.fixture(scope="module")
def catalog(warehouse: Path) -> Catalog:
    return load_catalog({"warehouse": str(warehouse), "cache-enabled": "false"})


def found(paimon: PaimonPeer, warehouse: Path, catalog: Catalog, name: str, **options: str) -> list[str]:
    """Differences between Paimon's rows and ours."""
    title = name.rpartition("$")[2]
    theirs = paimon.system_table(warehouse, name, options)
    opened = catalog.load_table(name)
    assert isinstance(opened, SystemTable)
    if options:
        table = catalog.load_table(name.rpartition("$")[0])
        assert isinstance(table, Table)
        opened = SYSTEM_TABLES[title].open(table.copy(options))
    if title == "branches":
        theirs["rows"] = [[*row[:-1], MODIFIED] for row in theirs["rows"]]
    return list(differences(paimon.version, opened, title, theirs))


@pytest.mark.parametrize("title", OF_EVERY_TABLE)
@pytest.mark.parametrize("table", ["keyed", "plain", "empty", "keyed$branch_b1"])
def test_a_system_table_of_ours_is_shown_equal(
    paimon: PaimonPeer, warehouse: Path, catalog: Catalog, table: str, title: str
) -> None:
    name = f"db.{table}${title}"
    if title in NEWEST or (paimon.version == "0.9.0" and title in NEWER):
        with pytest.raises(PeerError, match="does not exist"):
            paimon.system_table(warehouse, name)
        return
    assert found(paimon, warehouse, catalog, name) == []


@pytest.mark.parametrize("title", ["files", "manifests"])
@pytest.mark.parametrize("options", [{"scan.snapshot-id": "1"}, {"scan.tag-name": "kept"}], ids=str)
def test_a_system_table_travels_in_time_as_in_paimon(
    paimon: PaimonPeer, warehouse: Path, catalog: Catalog, title: str, options: Mapping[str, str]
) -> None:
    if paimon.version == "0.9.0" and title == "manifests":
        pytest.skip("0.9.0 shows the manifests of the latest snapshot only")
    assert found(paimon, warehouse, catalog, f"db.keyed${title}", **options) == []


@pytest.mark.parametrize("title", ["all_table_options", "catalog_options", "tables", "partitions"])
def test_a_table_of_sys_is_shown_equal(paimon: PaimonPeer, warehouse: Path, catalog: Catalog, title: str) -> None:
    if paimon.version == "0.9.0" and title in ("tables", "partitions"):
        pytest.skip("0.9.0 does not have it")
    if paimon.version == LATEST and title == "catalog_options":
        with pytest.raises(PeerError, match="does not exist"):  # unless an option of the catalog asks for it
            paimon.system_table(warehouse, f"sys.{title}")
        return
    theirs = paimon.system_table(warehouse, f"sys.{title}")
    # 1.x counts the place of a table among its options; it is not one that the table holds.
    rows = [row for row in theirs["rows"] if title != "all_table_options" or row[2] != "path"]
    opened = catalog.load_table(f"sys.{title}")
    assert isinstance(opened, SystemTable)
    assert [f.name for f in opened.fields] == theirs["columns"]
    assert [str(f.type) for f in opened.fields] == theirs["types"]
    assert json_rows(opened.scan().to_arrow(), opened.fields) == sorted_rows(rows)


def test_both_show_the_files_of_a_range_of_snapshots(paimon: PaimonPeer, tmp_path: Path) -> None:
    load_catalog({"warehouse": str(tmp_path)}).create_database("db")
    columns = [["k", "INT NOT NULL"], ["v", "INT"]]
    paimon.create_table(tmp_path, "db.t", columns=columns, primary_keys=["k"], options={"bucket": "1"})
    for step in range(4):
        paimon.write(tmp_path, "db.t", [["+I", [step, step]], ["+I", [9, step]]], **{"write-only": "true"})
    options = {"incremental-between": "1,3"}
    theirs = paimon.system_table(tmp_path, "db.t$files", options)
    at = [theirs["columns"].index(name) for name in ("file_path", "level", "min_key", "max_key")]
    view = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t$files")
    ours = view.scan(options=options).to_arrow().select(["file_path", "level", "min_key", "max_key"]).to_pylist()
    found = sorted((row["file_path"].rpartition("/")[2], row["level"], row["min_key"], row["max_key"]) for row in ours)
    expected = sorted(tuple(row[i] for i in at) for row in theirs["rows"])
    assert sorted((str(path).rpartition("/")[2], *rest) for path, *rest in expected) == found
    assert len(found) == 2
