"""Catalogs in a Hive metastore that the real Paimon and this library share, and what Hive's own client sees there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from table_format import AddColumn, Identifier, SetOption, SetViewComment, View, ViewCatalog, load_catalog
from table_format.errors import LockTimeout, TableFormatError
from table_format.runtime import SystemClock
from table_format.types import (
    ArrayType,
    BigIntType,
    DataField,
    DecimalType,
    IntType,
    RowType,
    TimestampType,
    VarCharType,
)
from tests.oracle.conftest import SharedLake
from tests.oracle.install import VERSIONS
from tests.oracle.peer import PaimonPeer, PeerError
from tests.oracle.shared_catalogs import (
    BOTH,
    names,
    test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it,
    test_what_one_creates_the_other_lists_reads_writes_renames_and_drops,
)
from tests.oracle.shared_format_tables import (
    test_a_catalog_whose_format_tables_are_off_neither_lists_nor_loads_them_in_both,
    test_a_partition_that_was_added_by_hand_is_there_for_both_and_hidden_files_are_not,
    test_a_plain_table_of_hive_is_a_format_table_for_both,
    test_a_text_of_others_is_the_same_value_for_both_or_null,
    test_any_text_that_we_write_is_the_same_text_for_both,
    test_both_keep_the_same_in_the_metastore_but_for_names_of_partitions_that_hive_reads,
    test_each_reads_appends_to_and_overwrites_the_format_tables_of_the_other,
)
from tests.oracle.shared_tables import make, opened, read, write
from tests.oracle.test_jdbc_views import create_there, step
from tests.support.hive_metastore import (
    HiveMetastore,
    client_jars,
    empty,
    listed,
    listed_partitions,
    running_metastore,
)
from tests.support.s3_server import S3Server

__all__ = [
    "test_a_catalog_whose_format_tables_are_off_neither_lists_nor_loads_them_in_both",
    "test_a_partition_that_was_added_by_hand_is_there_for_both_and_hidden_files_are_not",
    "test_a_plain_table_of_hive_is_a_format_table_for_both",
    "test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it",
    "test_a_text_of_others_is_the_same_value_for_both_or_null",
    "test_any_text_that_we_write_is_the_same_text_for_both",
    "test_both_keep_the_same_in_the_metastore_but_for_names_of_partitions_that_hive_reads",
    "test_each_reads_appends_to_and_overwrites_the_format_tables_of_the_other",
    "test_what_one_creates_the_other_lists_reads_writes_renames_and_drops",
]

FIELDS = (
    DataField(0, "k", BigIntType(), "the key"),
    DataField(1, "tags", ArrayType(VarCharType(length=5))),
    DataField(2, "at", TimestampType(3)),
    DataField(3, "inner", RowType((DataField(0, "price", DecimalType(10, 2)),))),
)
VIEW = View.of("db.v", FIELDS, "SELECT 'é' AS k,\n  \"x\" FROM t", comment="it's", options={"owner": "me"})
ONCE = {"commit.max-retries": "0"}
_NUMBERS = count()


@pytest.fixture(scope="module")
def metastore() -> Iterator[HiveMetastore]:
    with running_metastore() as running:
        yield running


@pytest.fixture(scope="module")
def paimon(metastore: HiveMetastore) -> Iterator[PaimonPeer]:
    with PaimonPeer(VERSIONS[-1], libraries=client_jars()) as running:
        yield running


@pytest.fixture
def lake(metastore: HiveMetastore, paimon: PaimonPeer, tmp_path: Path) -> Iterator[SharedLake]:
    """A warehouse on a disk, with locks."""
    yield shared(metastore, paimon, tmp_path, **{"lock.enabled": "true"})
    empty(metastore)


def shared(metastore: HiveMetastore, paimon: PaimonPeer, directory: Path, **more: str) -> SharedLake:
    options, uri = {**metastore.options, **more}, str(directory / f"w-{next(_NUMBERS)}")
    return SharedLake(uri, load_catalog({"warehouse": uri, **options}), paimon.with_catalog(options))


def test_each_reads_changes_and_drops_the_views_of_the_other(metastore: HiveMetastore, lake: SharedLake) -> None:
    lake.ours.create_database("db")
    views = lake.ours
    assert isinstance(views, ViewCatalog)
    views.create_view(VIEW)
    create_there(lake, replace(VIEW, identifier=Identifier("db", "w")))
    by_us, by_them = (listed(metastore, f"db.{name}") for name in "vw")
    same = ("tableType", "viewOriginalText", "viewExpandedText", "partitionKeys")
    assert [getattr(by_us, name) for name in same] == [getattr(by_them, name) for name in same]
    assert by_us.sd.cols == by_them.sd.cols
    kept = View(VIEW.identifier, VIEW.fields, VIEW.query, {}, VIEW.comment, VIEW.options)
    assert views.load_view("db.w") == replace(kept, identifier=Identifier("db", "w"))
    found = step(lake, "load")
    assert (found["query"], found["comment"], found["options"]["owner"]) == (VIEW.query, VIEW.comment, "me")
    assert found["fields"] == step(lake, "load", "db.w")["fields"]
    assert sorted(step(lake, "list")["names"]) == ["v", "w"] == sorted(views.list_views("db"))
    step(lake, "rename", target="db.x")
    views.alter_view("db.x", SetViewComment("changed here"))
    views.rename_view("db.w", "db.y")
    assert step(lake, "load", "db.x")["comment"] == "changed here"
    step(lake, "drop", "db.y")
    views.drop_view("db.x")
    assert step(lake, "list")["names"] == list(views.list_views("db")) == []


def test_both_keep_the_same_in_the_metastore(metastore: HiveMetastore, lake: SharedLake) -> None:
    options = {"bucket": "2", "write-only": "true"}
    found = []
    for by_us in (True, False):
        make(lake, options, by_us=by_us)
        if by_us:
            lake.ours.alter_table("db.t", [SetOption("num-levels", "4"), AddColumn("w", IntType())])
        else:
            lake.theirs.alter_options(lake.uri, "db.t", {"num-levels": "4"})
            lake.theirs.alter_columns(lake.uri, "db.t", ["add", ["w"], "INT"])
        found.append(_facts(listed(metastore, "db.t")))
        lake.ours.drop_database("db", cascade=True)
    assert found[0] == found[1]


def _facts(table: Any) -> dict[str, Any]:
    facts = {name: value for name, value in vars(table).items() if name not in ("createTime", "lastAccessTime")}
    # What the metastore itself counts when a table is altered, and when.
    own = ("transient_lastDdlTime", "totalSize", "numFiles")
    facts["parameters"] = {key: value for key, value in table.parameters.items() if key not in own}
    return {**facts, "sd": {**vars(table.sd), "serdeInfo": vars(table.sd.serdeInfo)}}


@BOTH
def test_both_list_the_same_partitions(metastore: HiveMetastore, lake: SharedLake, by_us: bool) -> None:
    make(lake, {"bucket": "1", "metastore.partitioned-table": "true"}, by_us=by_us)
    write(lake, [(1, "a", 1), (2, "b/c", 2)], by_us=by_us)
    write(lake, [(3, "a", 3)], by_us=not by_us)
    root = f"file:{opened(lake).store.paths.root}"
    assert listed_partitions(metastore, "db.t") == {("a",): f"{root}/pt=a", ("b/c",): f"{root}/pt=b%2Fc"}
    opened(lake).drop_partitions([{"pt": "a"}])
    assert set(listed_partitions(metastore, "db.t")) == {("b/c",)}


def test_paimon_waits_for_our_lock_and_we_for_its(
    metastore: HiveMetastore, paimon: PaimonPeer, lake: SharedLake
) -> None:
    hasty = {"lock.enabled": "true", "lock-acquire-timeout": "1 s"}
    make(lake, {"bucket": "1", **ONCE}, by_us=True)
    lock = opened(lake).store.lock
    assert lock is not None
    uri = f"{lake.uri}/"  # the peer keeps a catalog for each
    options = {**metastore.options, **hasty}
    theirs = SharedLake(uri, load_catalog({"warehouse": uri, **options}), paimon.with_catalog(options))
    with lock.held(SystemClock()):
        with pytest.raises(PeerError, match="Acquire lock failed"):
            write(theirs, [(1, "a", 1)], by_us=False)
        with pytest.raises(LockTimeout):
            write(theirs, [(2, "a", 2)], by_us=True)
    write(theirs, [(3, "a", 3)], by_us=False)
    write(theirs, [(4, "a", 4)], by_us=True)
    assert read(lake) == [(3, "a", 3), (4, "a", 4)]


def test_a_table_that_paimon_left_in_its_directory_when_it_was_renamed_is_read_and_dropped(
    lake: SharedLake,
) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=False)
    lake.theirs.catalog(lake.uri, "rename_table", "db.t", "db.u")
    assert read(lake, "db.u") == [(1, "a", 1)]
    lake.ours.rename_table("db.u", "db.v")
    assert read(lake, "db.v") == [(1, "a", 1)]
    lake.ours.drop_table("db.v")
    assert names(lake) == {"db": []}


SPARK = """
import json, sys
from pyspark.sql import SparkSession
from table_format.spark import paimon
options = json.loads(sys.argv[1])
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").enableHiveSupport()
spark = builder.config("spark.hadoop.hive.metastore.uris", options["uri"]).getOrCreate()
lake = paimon(spark, options)
lake.sql("CREATE TABLE db.t (id BIGINT, v STRING, dt STRING) PARTITIONED BY (dt) "
         "TBLPROPERTIES ('metastore.partitioned-table' = 'true')")
lake.sql("INSERT INTO db.t VALUES (1, 'a', '2026-01-01'), (2, 'b', '2026-01-02')")
hive = spark._jvm.org.apache.hadoop.hive
settings = hive.conf.HiveConf()
settings.set("hive.metastore.uris", options["uri"])
client = hive.metastore.HiveMetaStoreClient(settings)
table = client.getTable("db", "t")
seen = {
    "rows": [list(row) for row in lake.sql("SELECT * FROM db.t ORDER BY id").collect()],
    "tables": [row.tableName for row in spark.sql("SHOW TABLES IN spark_catalog.db").collect()],
    "columns": [[column.getName(), column.getType()] for column in table.getSd().getCols()],
    "keys": [[key.getName(), key.getType()] for key in table.getPartitionKeys()],
    "partitions": list(client.listPartitionNames("db", "t", -1)),
}
print("SEEN", json.dumps(seen))
spark.stop()
"""


def test_hives_own_client_sees_the_columns_and_partitions_of_a_table_that_spark_writes_here(
    metastore: HiveMetastore, lake: SharedLake
) -> None:
    lake.ours.create_database("db")
    options = {**metastore.options, "warehouse": lake.uri, "lock.enabled": "true"}
    command = [sys.executable, "-c", SPARK, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(lake.uri).parent)
    seen = [line for line in done.stdout.splitlines() if line.startswith("SEEN ")]
    assert seen, done.stderr
    assert json.loads(seen[0].removeprefix("SEEN ")) == {
        "rows": [[1, "a", "2026-01-01"], [2, "b", "2026-01-02"]],
        "tables": ["t"],
        "columns": [["id", "bigint"], ["v", "string"]],
        "keys": [["dt", "string"]],
        "partitions": ["dt=2026-01-01", "dt=2026-01-02"],
    }
    assert [row[:2] for row in read(lake)] == [(1, "a"), (2, "b")]


def test_writers_of_both_lose_no_commit_in_s3_under_the_lock_of_the_metastore(
    metastore: HiveMetastore, moto: S3Server
) -> None:
    # The metastore does not access the store: it knows the locations as properties. Locks are on by default.
    options = {
        **moto.options,
        **metastore.options,
        "s3.endpoint.region": "us-east-1",
        "location-in-properties": "true",
        "lock-check-max-sleep": "100 ms",
    }
    uri = f"{moto.make_bucket('hive-names')}/w"
    with PaimonPeer(VERSIONS[-1], options, libraries=client_jars()) as theirs:
        lake = SharedLake(uri, load_catalog({"warehouse": uri, **options}), theirs)
        make(lake, {"bucket": "1", "write-only": "true"}, by_us=True)
        failures: list[BaseException] = []

        def commit(by_us: bool) -> None:
            try:
                for number in range(5):
                    write(lake, [(number + 10 * by_us, "a", number)], by_us=by_us)
            except (PeerError, TableFormatError, OSError) as error:
                failures.append(error)

        ours = Thread(target=commit, args=(True,))
        ours.start()
        commit(False)
        ours.join()
        assert failures == []
        assert [row[0] for row in read(lake)] == [*range(5), *range(10, 15)]
        assert theirs.snapshot_ids(uri, "db.t") == list(range(1, 11))
        assert opened(lake).store.lock is not None
        lake.ours.drop_database("db", cascade=True)
