"""Python workers that are forked from the daemon of this library have imported it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from table_format.spark.daemon import without_archive


@pytest.mark.spark
def test_a_worker_has_imported_the_library_before_its_first_task(spark: Any) -> None:
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: "table_format.table.table" in sys.modules).collect()
    assert found == [True]


def test_pyspark_is_imported_from_its_directory_instead_of_the_archive_of_the_same_files(tmp_path: Path) -> None:
    home = tmp_path / "site-packages" / "pyspark"
    archive = home / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    path = [str(archive), str(tmp_path), str(home.parent)]
    assert without_archive(path, str(home)) == path[1:]
    assert without_archive(path, None) == path
    assert without_archive(path[:2], str(home)) == path[:2]
    other = tmp_path / "other" / "pyspark"
    shutil.copytree(home, other)
    assert without_archive([str(archive), str(other.parent)], str(home)) == [str(archive), str(other.parent)]


@pytest.mark.spark
def test_processes_that_plan_a_data_source_start_with_what_they_need_in_tests(spark: Any) -> None:
    """Otherwise, each of them compiles PySpark and imports the library again: ``spark_workers/sitecustomize.py``."""
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import IntegerType, StructType

    class Origin(DataSource):
        @classmethod
        def name(cls) -> str:
            return "origin"

        def schema(self) -> StructType:
            import py4j
            import pyspark

            shown = StructType().add(pyspark.__file__, IntegerType()).add(py4j.__file__, IntegerType())
            return shown.add(str("table_format.spark.source.data_source" in sys.modules), IntegerType())

    spark.dataSource.register(Origin)
    *origins, is_imported = spark.read.format("origin").load().columns
    assert len(origins) == 2
    assert [path for path in origins if ".zip" in path] == []
    assert is_imported == "True"
