"""Object tables on Spark: SQL statements, time travel, and their files in tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_paimon import LakehouseCatalog
from table_format import ObjectTable
from table_format.errors import InvalidInputError, UnsupportedFeature
from tests.spark.lakes import TestLake
from tests.support.code_blocks import code_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "object-tables.md").read_text()

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


def test_the_examples_of_the_page_run(
    lake: TestLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lake.lake.sql("CREATE DATABASE shop")
    python, printed = code_blocks(PAGE), code_blocks(PAGE, "text")
    names: dict[str, Any] = {"catalog": lake.lake.catalog, "lake": lake.lake}
    for block in python:
        run_block(block, names)
    assert capsys.readouterr().out == "".join(printed)
    found = {Path(row.path).name: bytes(row.data) for row in names["frame"].collect()}
    assert found == {"a.png": b"png of a.png", "b.png": b"png of b.png", "c.png": b"png of 2026/c.png", "d.png": b"new"}

    (tmp_path / "images" / "e.png").write_bytes(b"newer")
    lakehouse = LakehouseCatalog(warehouse=lake.lake.catalog.warehouse)
    done = dg.materialize([names["refreshed_images"]], resources={"lakehouse": lakehouse})
    (event,) = done.get_asset_materialization_events()
    assert event.materialization.metadata["files"].value == 5

    (statements,) = code_blocks(PAGE, "sql")
    lake.lake.sql("DROP TABLE shop.images")
    shown = lake.lake.run_script(statements.replace("s3://bucket/images", f"{tmp_path}/images"))[-1]
    assert shown.count() == 5
