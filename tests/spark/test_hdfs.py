"""Tables in HDFS on Spark: the tasks of the library read and write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from table_format.spark import paimon
from tests.spark.lakes import rows_of
from tests.support.hdfs_cluster import HdfsCluster, running_hdfs

pytestmark = [pytest.mark.spark, pytest.mark.oracle]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


def test_tables_are_written_and_read_on_spark(cluster: HdfsCluster, spark: Any, interpreted: None) -> None:
    options = {"warehouse": f"{cluster.native_uri}/warehouse", **cluster.options}
    lake = paimon(spark, options)
    lake.sql("CREATE DATABASE s")
    lake.sql("CREATE TABLE s.t (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')")
    lake.write(spark.sql("SELECT id, 'old' AS v FROM range(4)"), "s.t")
    lake.sql("UPDATE s.t SET v = 'new' WHERE id < 2")
    expected = [(0, "new"), (1, "new"), (2, "old"), (3, "old")]
    assert rows_of(lake.table("s.t")) == expected
    assert rows_of(spark.read.format("paimon").load(f"{options['warehouse']}/s.db/t")) == expected
