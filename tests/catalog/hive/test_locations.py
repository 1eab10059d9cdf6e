"""Locations in a Hive metastore and the paths of the store."""

from __future__ import annotations

import pytest

from table_format.catalog.hive.locations import Locations
from table_format.errors import UnsupportedFeature
from table_format.io.hdfs import location_of, open_hdfs
from table_format.io.memory import MemoryFileIO
from table_format.io.s3 import open_s3
from table_format.options.declare import parse_group
from table_format.options.hdfs import HdfsOptions
from table_format.options.s3 import S3Options

KEYS = {"s3.access-key": "k", "s3.secret-key": "s", "s3.endpoint": "http://127.0.0.1:1"}


@pytest.mark.parametrize("uri", ["/w/db.db/t", "file:/w/db.db/t", "file:///w/db.db/t"])
def test_a_local_location_is_a_path_with_or_without_its_scheme(uri: str) -> None:
    assert Locations(MemoryFileIO(), in_properties=False).path_of(uri) == "/w/db.db/t"


@pytest.mark.parametrize("uri", ["s3://b/w/t", "s3a://b/w/t", "s3n://b/w/t"])
def test_a_location_in_s3_is_in_the_store_whatever_name_its_scheme_has(uri: str) -> None:
    assert Locations(open_s3(parse_group(S3Options, KEYS)), in_properties=False).path_of(uri) == "/b/w/t"


def test_a_location_in_hdfs_is_in_the_store_of_a_warehouse_in_hdfs() -> None:
    options = parse_group(HdfsOptions, {"dfs.namenode.http-address": "h:9870"})
    locations = Locations(open_hdfs(location_of(options, "hdfs://h:8020/w")), in_properties=False)
    assert locations.path_of("hdfs://h:8020/w/db.db/t") == "/h:8020/w/db.db/t"
    with pytest.raises(UnsupportedFeature, match=r"is in another store than the warehouse \('hdfs'\)"):
        locations.path_of("/w/db.db/t")


@pytest.mark.parametrize("uri", ["hdfs://h/w/t", "hdfs:/w/t", "s3://b/w/t", "abfs://c@a.dfs.core.windows.net/t"])
def test_a_location_in_another_store_is_refused_by_name(uri: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"is in another store than the warehouse \('file'\)"):
        Locations(MemoryFileIO(), in_properties=False).path_of(uri)
