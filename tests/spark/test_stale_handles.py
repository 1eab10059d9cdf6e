"""On Spark as in one process: what others wrote under a newer schema is never lost to a handle opened before."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import LongType, StructType

from table_format.errors import SchemaChanged, TableReplaced
from table_format.model.schema_change import AddColumn, AlterColumnType, SetOption
from table_format.model.types import BigIntType
from table_format.spark.jobs.compact import compact_on_spark
from table_format.spark.jobs.rescale import rescale_on_spark
from table_format.spark.jobs.sort_compact import sort_compact_on_spark
from table_format.spark.read.frames import frame_of
from table_format.spark.source.reader import PaimonReader
from table_format.spark.source.writer import PaimonWriter
from table_format.spark.write.frames import write_frame
from table_format.table.table import Table
from tests.spark.lakes import TestLake, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

BIG = (1 << 40) + 7
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int32())])
OF_V = StructType().add("v", LongType())
DDL = "id long, v int"
EXPECTED = [(1, 1, None), (2, 2, None), (3, BIG, 33), (4, BIG, 44)]


def stale_and_altered(lake: TestLake, *, primary_keys: tuple[str, ...] = ("id",), **options: str) -> Table:
    """A handle from before a column was added and another widened; both hold values since."""
    stale = lake.create(schema=SCHEMA, primary_keys=primary_keys, **options)
    lake.append([(1, 1)])
    lake.append([(2, 2)])
    alter(lake)
    return stale


def alter(lake: TestLake) -> None:
    lake.lake.catalog.alter_table("s.t", (AlterColumnType("v", BigIntType()), AddColumn("c", BigIntType())))
    lake.append([(3, BIG, 33), (4, BIG, 44)])


def spark_jobs(lake: TestLake, table: Table) -> dict[str, Any]:
    return {
        "compact": lambda: compact_on_spark(lake.spark, table, full=True, partitions=None),
        "rescale": lambda: rescale_on_spark(lake.spark, table, 3, partitions=None),
        "sort": lambda: sort_compact_on_spark(lake.spark, table, ["id"], "order", partitions=None),
    }


@pytest.mark.parametrize(
    ("job", "primary_keys", "options"),
    [
        ("compact", ("id",), {}),
        ("compact", (), {}),
        ("compact", ("id",), {"bucket": "-2"}),
        ("rescale", ("id",), {}),
        ("sort", (), {}),
        ("sort", ("id",), {"bucket": "-1"}),
    ],
)
def test_jobs_of_a_stale_handle_use_the_current_schema(
    lake: TestLake, job: str, primary_keys: tuple[str, ...], options: dict[str, str]
) -> None:
    stale = stale_and_altered(lake, primary_keys=primary_keys, **options)
    spark_jobs(lake, stale)[job]()
    assert rows_of(lake.lake.table("s.t")) == EXPECTED


@pytest.mark.parametrize("options", [{}, {"bucket": "-1"}, {"changelog-producer": "lookup"}])
def test_rows_of_a_frame_from_before_a_schema_change_are_written_after_it(
    lake: TestLake, options: dict[str, str]
) -> None:
    table = lake.create(schema=SCHEMA, **options)
    lake.append([(1, 1)])
    commit = table.new_commit("w")
    messages = write_frame(lake.frame([(2, 2)], DDL), table.facts, parallelism=2, commit_user="w")
    lake.lake.catalog.alter_table("s.t", (AlterColumnType("v", BigIntType()), AddColumn("c", BigIntType())))
    if "bucket" not in options:
        lake.append([(3, BIG, 33), (4, BIG, 44)])
    commit.commit(messages, identifier=1)
    assert rows_of(lake.lake.table("s.t")) == (EXPECTED[:2] if "bucket" in options else EXPECTED)


def test_tasks_that_would_rewrite_newer_rows_refuse(lake: TestLake) -> None:
    stale = stale_and_altered(lake, **{"changelog-producer": "lookup"})
    before = lake.files()
    with pytest.raises(SchemaChanged, match="would lose values of v, c"):
        write_frame(lake.frame([(3, 5), (4, 5)], DDL), stale.facts, parallelism=2)
    assert lake.files() == before
    assert rows_of(lake.lake.table("s.t")) == EXPECTED


def test_readers_never_narrow_values(lake: TestLake) -> None:
    stale = stale_and_altered(lake)
    with pytest.raises(SchemaChanged):
        stale.scan().plan()
    with pytest.raises(SchemaChanged):
        PaimonReader(stale, OF_V, parallelism=1).partitions()
    narrow = stale.scan(columns=["id"])
    assert rows_of(frame_of(lake.spark, stale.facts, narrow.plan())) == [(1,), (2,), (3,), (4,)]


def test_a_format_writer_that_was_opened_before_the_change_adds_its_rows(lake: TestLake) -> None:
    table = lake.create(schema=SCHEMA)
    writer = PaimonWriter(table, overwrite=False)
    written = writer.write(iter(pa.table({"id": [1], "v": [1]}).to_batches()))
    alter(lake)
    writer.commit([written])
    assert rows_of(lake.lake.table("s.t")) == [EXPECTED[0], *EXPECTED[2:]]
    # Where rows would be merged otherwise than they were written, nothing is committed and no file stays.
    table = lake.table()
    writer = PaimonWriter(table, overwrite=False)
    before = lake.files()
    written = writer.write(iter(pa.table({"id": [9], "v": [9], "c": [9]}).to_batches()))
    lake.lake.catalog.alter_table("s.t", SetOption("changelog-producer", "input"))
    with pytest.raises(SchemaChanged, match="changelog-producer"):
        writer.commit([written])
    writer.abort([written])
    assert lake.files() == before


def test_rows_of_a_dropped_table_never_reach_its_successor(lake: TestLake) -> None:
    old = lake.create(schema=SCHEMA)
    writer = PaimonWriter(old, overwrite=False)
    written = writer.write(iter(pa.table({"id": [1], "v": [1]}).to_batches()))
    messages = write_frame(lake.frame([(2, 2)], DDL), old.facts, parallelism=2)
    commit = old.new_commit("w")
    lake.lake.catalog.drop_table("s.t")
    new = lake.create(schema=SCHEMA)
    lake.append([(7, 7)])
    before = lake.files()
    with pytest.raises(TableReplaced):
        writer.commit([written])
    writer.abort([written])
    with pytest.raises(TableReplaced):
        commit.commit(messages, identifier=1)
    with pytest.raises(TableReplaced):
        write_frame(lake.frame([(2, 2)], DDL), old.facts, parallelism=2)
    for job in ("compact", "rescale"):
        with pytest.raises(TableReplaced):
            spark_jobs(lake, old)[job]()
    with pytest.raises((TableReplaced, PySparkException)):
        PaimonReader(old, OF_V, parallelism=1).partitions()
    assert lake.files() == before
    assert rows_of(lake.lake.table("s.t")) == [(7, 7)]
    assert [s.id for s in new.snapshots()] == [1]
