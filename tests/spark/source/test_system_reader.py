"""System tables and branches by ``format("paimon")``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.lakes import TestLake, a_lake, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> TestLake:
    """A table that no test changes."""
    lake = a_lake(spark, tmp_path_factory.mktemp("written") / "warehouse")
    lake.create()
    lake.write([(1, "a"), (2, "b")])
    lake.write([("-D", 1, "a")], "_row_kind string, id long, v string")
    return lake


def read(lake: TestLake, suffix: str, **options: str) -> Any:
    path = lake.table().store.paths.root + suffix
    return lake.spark.read.format("paimon").options(**options).load(path)


@pytest.mark.parametrize(
    "suffix", ["snapshots", "files", "schemas", "options", "audit_log", "ro", "partitions", "tags"]
)
def test_a_system_table_is_read_by_path(written: TestLake, suffix: str) -> None:
    found = read(written, f"${suffix}")
    wanted = written.lake.table(f"s.t${suffix}")
    assert found.columns == wanted.columns
    assert rows_of(found) == rows_of(wanted)


def test_a_system_table_is_read_by_name_and_with_some_columns(written: TestLake) -> None:
    reader = written.spark.read.format("paimon").options(warehouse=str(written.warehouse))
    assert rows_of(reader.option("table", "s.t$snapshots").load().select("snapshot_id")) == [(1,), (2,)]
    assert rows_of(reader.option("table", "sys.tables").load().select("table_name")) == [("t",)]
    assert read(written, "$snapshots").where("commit_kind = 'APPEND'").count() == 2
    assert rows_of(read(written, "$audit_log", **{"incremental-between": "1,2"}).select("rowkind", "id")) == [("-D", 1)]


def test_writing_a_system_table_is_refused(written: TestLake) -> None:
    path = written.table().store.paths.root
    frame = written.spark.createDataFrame([(1,)], "snapshot_id long")
    with pytest.raises(Exception, match="is a system table, which is read-only"):
        frame.write.format("paimon").mode("append").save(f"{path}$snapshots")


def test_a_branch_is_read_and_written(lake: TestLake) -> None:
    lake.create()
    lake.append([(1, "a"), (2, "b")])
    lake.table().create_tag("x", 1)
    lake.table().create_branch("dev", tag="x")
    lake.table().delete("id = 1")
    path = lake.table().store.paths.root
    frame = lake.frame([(3, "c")], "id long, v string")
    frame.write.format("paimon").mode("append").save(f"{path}$branch_dev")
    assert rows_of(read(lake, "$branch_dev")) == [(1, "a"), (2, "b"), (3, "c")]
    assert rows_of(read(lake, "", branch="dev")) == [(1, "a"), (2, "b"), (3, "c")]
    assert read(lake, "$branch_dev$snapshots").count() == 2
    assert rows_of(read(lake, "")) == [(2, "b")]
