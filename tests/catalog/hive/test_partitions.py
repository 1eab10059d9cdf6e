"""Partitions in a real Hive metastore (``metastore.partitioned-table``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import AddColumn, Schema, SetOption, load_catalog
from table_format.catalog.hive.address import parse_addresses
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.catalog.hive.metastore import Metastore
from table_format.catalog.hive.partitions import HivePartitions
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.io.memory import MemoryFileIO
from table_format.types import IntType
from tests.support.hive_metastore import HiveMetastore, hive_catalog, listed, listed_partitions
from tests.support.metastore_table import ManualClock
from tests.support.tables import KEYED, Warehouse, keyed, rows_of

PARTITIONED = {"metastore.partitioned-table": "true"}


def test_partitions_are_listed_after_commits_and_forgotten_when_they_are_dropped(
    metastore: HiveMetastore, warehouse: Warehouse
) -> None:
    table = warehouse.table("t", partition_keys=["dt"], options=PARTITIONED)
    found = listed(metastore, "db.t")
    assert [(key.name, key.type) for key in found.partitionKeys] == [("dt", "string")]
    assert [column.name for column in found.sd.cols] == ["id", "v"]
    table.append(keyed([(1, "a", 1), (2, "b/c", 2)]))
    table.append(keyed([(3, "a", 3), (4, None, 4)]))
    root = f"file:{table.store.paths.root}"
    assert listed_partitions(metastore, "db.t") == {
        ("a",): f"{root}/dt=a",
        ("b/c",): f"{root}/dt=b%2Fc",
        ("__DEFAULT_PARTITION__",): f"{root}/dt=__DEFAULT_PARTITION__",
    }
    table.drop_partitions([{"dt": "a"}, {"dt": None}])
    assert set(listed_partitions(metastore, "db.t")) == {("b/c",)}
    table.overwrite(keyed([(5, "d", 5)]), partition={"dt": "d"})
    assert set(listed_partitions(metastore, "db.t")) == {("b/c",), ("d",)}
    assert [row[0] for row in rows_of(table)] == [2, 5]


def test_expired_partitions_are_forgotten(metastore: HiveMetastore, warehouse: Warehouse) -> None:
    options = {**PARTITIONED, "partition.expiration-time": "1 d", "partition.timestamp-formatter": "yyyy-MM-dd"}
    table = warehouse.table("t", partition_keys=["dt"], options=options)
    table.append(keyed([(1, "2001-01-01", 1), (2, "9999-01-01", 2)]))
    table.expire_partitions()
    assert set(listed_partitions(metastore, "db.t")) == {("9999-01-01",)}


def test_partitions_that_expire_by_their_last_update_are_forgotten_and_rescaled_ones_stay(
    metastore: HiveMetastore, tmp_path: Path, warehouse: Warehouse
) -> None:
    clock = ManualClock()
    catalog = hive_catalog(metastore, tmp_path, warehouse.io, clock)
    options = {**PARTITIONED, "partition.expiration-time": "1 d", "partition.expiration-strategy": "update-time"}
    warehouse.table("t", partition_keys=["dt"], options={**options, "bucket": "1", "bucket-key": "id"})
    table = catalog.load_table("db.t")
    table.append(keyed([(1, "old", 1), (2, "new", 2)]))
    clock.ms += 2 * 86_400_000
    table.append(keyed([(3, "new", 3)]))
    table.rescale(2, partitions=[{"dt": "new"}])
    assert set(listed_partitions(metastore, "db.t")) == {("new",), ("old",)}
    table.expire_partitions()
    assert set(listed_partitions(metastore, "db.t")) == {("new",)}


def test_without_the_option_the_table_is_unpartitioned_in_the_metastore(
    metastore: HiveMetastore, warehouse: Warehouse
) -> None:
    table = warehouse.table("t", partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    found = listed(metastore, "db.t")
    assert found.partitionKeys == []
    assert [column.name for column in found.sd.cols] == ["id", "dt", "v"]
    assert table.store.partitions is None


def test_partitions_are_those_of_a_renamed_table_and_have_its_new_columns(
    metastore: HiveMetastore, warehouse: Warehouse
) -> None:
    warehouse.table("t", partition_keys=["dt"], options=PARTITIONED).append(keyed([(1, "a", 1)]))
    warehouse.catalog.rename_table("db.t", "db.u")
    table = warehouse.catalog.alter_table("db.u", AddColumn("w", IntType()))
    table.append(pa.table({"id": [2], "dt": ["b"], "v": pa.array([2], pa.int32()), "w": pa.array([2], pa.int32())}))
    root = f"file:{table.store.paths.root}"
    assert listed_partitions(metastore, "db.u") == {("a",): f"{root}/dt=a", ("b",): f"{root}/dt=b"}
    assert [column.name for column in listed(metastore, "db.u").sd.cols] == ["id", "v", "w"]


def test_a_commit_stands_without_the_metastore_and_a_repair_lists_its_partitions(
    metastore: HiveMetastore, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    table = warehouse.table("t", partition_keys=["dt"], options=PARTITIONED)
    partitions = table.store.partitions
    assert isinstance(partitions, HivePartitions)
    nowhere = replace(partitions.entries, metastore=Metastore(parse_addresses("thrift://127.0.0.1:1")))
    away = replace(table, store=replace(table.store, partitions=replace(partitions, entries=nowhere)))
    away.append(keyed([(1, "a", 1)]))
    assert "snapshot 1 is committed, but the partitions dt=a are not up to date in the catalog" in caplog.text
    assert listed_partitions(metastore, "db.t") == {}
    assert isinstance(warehouse.catalog, HiveCatalog)
    warehouse.catalog.repair_table("db.t")
    assert set(listed_partitions(metastore, "db.t")) == {("a",)}


def test_a_branch_lists_no_partitions(metastore: HiveMetastore, warehouse: Warehouse) -> None:
    table = warehouse.table("t", partition_keys=["dt"], options=PARTITIONED)
    table.create_branch("b")
    warehouse.catalog.load_table("db.t$branch_b").append(keyed([(1, "a", 1)]))
    assert listed_partitions(metastore, "db.t") == {}


def test_whether_partitions_are_listed_is_decided_when_a_table_is_created(warehouse: Warehouse) -> None:
    warehouse.table("t", partition_keys=["dt"])
    with pytest.raises(InvalidOption, match=r"'metastore\.partitioned-table': cannot change"):
        warehouse.catalog.alter_table("db.t", SetOption("metastore.partitioned-table", "true"))


def test_a_catalog_that_lists_no_partitions_refuses_the_option() -> None:
    catalog = load_catalog({"warehouse": "/w"}, file_io=MemoryFileIO())
    catalog.create_database("db")
    with pytest.raises(UnsupportedFeature, match="needs a catalog that lists partitions: one in a Hive metastore"):
        catalog.create_table("db.t", Schema.from_arrow(KEYED, partition_keys=["dt"], options=PARTITIONED))
    catalog.create_table("db.t", Schema.from_arrow(KEYED, partition_keys=["dt"]))
    with pytest.raises(UnsupportedFeature, match="needs a catalog that lists partitions"):
        catalog.alter_table("db.t", SetOption("metastore.partitioned-table", "true"))
