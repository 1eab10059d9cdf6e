"""Tables of a catalog in a relational database on Spark: the driver takes the lock, the tasks need no database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_format.spark import paimon
from tests.spark.lakes import rows_of
from tests.support.jdbc_catalogs import locks, sql, sqlite_options

pytestmark = pytest.mark.spark


def test_statements_create_change_rename_and_read_a_table(spark: Any, tmp_path: Path, interpreted: None) -> None:
    lake = paimon(spark, sqlite_options(tmp_path) | {"lock.enabled": "true"})
    lake.sql("CREATE DATABASE s")
    lake.sql("CREATE TABLE s.t (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')")
    lake.write(lake.spark.sql("SELECT id, 'old' AS v FROM range(4)"), "s.t")
    lake.sql("UPDATE s.t SET v = 'new' WHERE id < 2")
    lake.sql("ALTER TABLE s.t RENAME TO s.u")
    expected = [(0, "new"), (1, "new"), (2, "old"), (3, "old")]
    assert rows_of(lake.sql("SELECT * FROM s.u")) == expected
    assert sql(tmp_path, "SELECT * FROM paimon_tables") == [("jdbc", "s", "u")]
    assert locks(tmp_path) == []
