"""Object tables on Spark: SQL statements, time travel, and their files in tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import ObjectTable
from table_format.errors import InvalidInputError, UnsupportedFeature
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark


@pytest.fixture
def files(tmp_path: Path) -> Path:
    directory = tmp_path / "files"
    (directory / "sub").mkdir(parents=True)
    for name in ("a.txt", "sub/b.txt", ".hidden"):
        (directory / name).write_text(name * 2)
    return directory


def values(lake: TestLake, text: str) -> list[Any]:
    return sorted(row[0] for row in lake.lake.sql(text).collect())


def test_statements_on_an_object_table(lake: TestLake, files: Path, interpreted: None) -> None:
    options = f"('type' = 'object-table', 'object-location' = '{files}')"
    lake.lake.sql(f"CREATE TABLE s.objects TBLPROPERTIES {options}")
    lake.lake.sql(f"CREATE TABLE s.flink WITH {options}")
    assert values(lake, "CALL sys.refresh_object_table('s.objects')") == [3]
    (files / "c.txt").write_text("c")
    assert values(lake, "CALL sys.refresh_object_table(table => 's.objects')") == [4]
    assert values(lake, "SELECT name FROM s.objects WHERE length > 1") == [".hidden", "a.txt", "b.txt"]
    for earlier in ("s.objects VERSION AS OF 1", "s.objects /*+ OPTIONS('scan.snapshot-id' = '1') */"):
        assert values(lake, f"SELECT count(*) FROM {earlier}") == [3]  # noqa: S608 - written here
    assert lake.lake.table("s.objects", columns=["path"], filter="name = 'c.txt'").first()[0] == f"{files}/c.txt"
    assert values(lake, "SELECT snapshot_id FROM s.`objects$snapshots`") == [1, 2]
    assert "'object-location'" in values(lake, "SHOW CREATE TABLE s.objects")[0]
    lake.lake.sql("CREATE TABLE s.same LIKE s.objects")
    assert isinstance(lake.table("same"), ObjectTable)
    assert values(lake, "CALL sys.refresh_object_table('s.same')") == [4]

    for statement in (
        "INSERT INTO s.objects SELECT * FROM s.objects",
        "INSERT OVERWRITE s.objects SELECT * FROM s.objects",
        "DELETE FROM s.objects WHERE name = 'a.txt'",
        "UPDATE s.objects SET owner = 'ann'",
        "MERGE INTO s.objects t USING s.same u ON t.path = u.path WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE s.objects",
    ):
        with pytest.raises(UnsupportedFeature, match=r"'s\.objects' is an object table: its rows are the files in"):
            lake.lake.sql(statement)
    with pytest.raises(UnsupportedFeature, match="AS of an object table"):
        lake.lake.sql(f"CREATE TABLE s.filled TBLPROPERTIES {options} AS SELECT * FROM s.objects")  # noqa: S608 - written here
    with pytest.raises(InvalidInputError, match="fixed"):
        lake.lake.sql("ALTER TABLE s.objects ADD COLUMN width INT")
    lake.create("plain")
    with pytest.raises(InvalidInputError, match=r"'s\.plain' is not an object table"):
        lake.lake.sql("CALL sys.refresh_object_table('s.plain')")
    assert len(values(lake, "SELECT path FROM s.objects")) == 4


def test_tasks_open_the_files_of_their_rows(lake: TestLake, files: Path) -> None:
    lake.lake.sql(f"CREATE TABLE s.objects TBLPROPERTIES ('object-location' = '{files}')")
    objects = lake.table("objects")
    assert isinstance(objects, ObjectTable)
    objects.refresh()

    def contents(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = []
            for path in batch.column("path").to_pylist():
                with objects.open(path) as file:
                    texts.append(file.read().decode())
            yield pa.RecordBatch.from_pydict({"text": texts})

    frame = lake.lake.table("s.objects", columns=["path"]).mapInArrow(contents, "text STRING")
    assert sorted(row.text for row in frame.collect()) == [".hidden.hidden", "a.txta.txt", "sub/b.txtsub/b.txt"]
