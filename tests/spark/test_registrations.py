"""Registrations of the driver are unknown to Spark's workers, which raise an error that names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from table_format import Schema
from table_format.formats.registry import FORMATS, register_format
from table_format.options.file_formats import FILE_FORMATS
from table_format.spark import paimon
from table_format.table.system.metadata import LONG, columns
from table_format.table.system.registry import SYSTEM_TABLES, metadata_table, register_system_table
from tests.formats.test_registry import FACTS, Feather
from tests.support.registries import forgotten_again
from tests.support.tables import KEYED, keyed

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with forgotten_again(FORMATS, FILE_FORMATS, SYSTEM_TABLES):
        yield


def test_the_error_names_a_format_that_only_the_driver_has_registered(spark: SparkSession, tmp_path: Path) -> None:
    register_format(Feather(), FACTS)
    lake = paimon(spark, {"warehouse": str(tmp_path)})
    lake.catalog.create_database("db")
    table = lake.catalog.create_table("db.t", Schema.from_arrow(KEYED, options={"file.format": "feather"}))
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(Exception, match="file format 'feather' is not supported by this version") as refused:
        lake.table("db.t").collect()
    assert type(refused.value).__module__.startswith("pyspark")


def test_a_registered_system_table_is_returned_as_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    register_system_table(metadata_table("sizes", columns(n=LONG), lambda facts: [{"n": len(facts.schema.fields)}]))
    lake = paimon(spark, {"warehouse": str(tmp_path)})
    lake.catalog.create_database("db")
    lake.catalog.create_table("db.t", Schema.from_arrow(KEYED))
    assert [row.n for row in lake.table("db.t$sizes").collect()] == [3]
