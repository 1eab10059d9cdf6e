"""Several sessions of one application."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.spark import paimon
from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark


@pytest.fixture
def path(lake: TestLake) -> str:
    lake.create()
    lake.write([(1, "a")])
    return lake.table().store.paths.root


def test_a_new_session_reads_and_writes_without_preparation(lake: TestLake, path: str) -> None:
    session = lake.spark.newSession()
    session.createDataFrame([(2, "b")], "id long, v string").write.format("paimon").mode("append").save(path)
    assert rows_of(session.read.format("paimon").load(path)) == [(1, "a"), (2, "b")]
    assert rows_of(session.newSession().read.format("paimon").load(path)) == [(1, "a"), (2, "b")]


def test_each_session_has_its_own_lake(lake: TestLake, path: str) -> None:
    sessions = [lake.spark.newSession(), lake.spark.newSession()]
    for session in sessions:
        own = paimon(session, {"warehouse": str(lake.warehouse)})
        assert rows_of(own.sql("SELECT v FROM s.t")) == [("a",)]
        assert rows_of(session.read.format("paimon").load(path)) == [(1, "a")]
    paimon(sessions[0], {"warehouse": str(lake.warehouse)})
    assert rows_of(sessions[1].read.format("paimon").load(path)) == [(1, "a")]
    assert rows_of(lake.spark.read.format("paimon").load(path)) == [(1, "a")]


def test_attached_tables_are_visible_in_all_sessions(lake: TestLake, path: str) -> None:
    before = lake.spark.newSession()
    try:
        lake.lake.attach("s")
        for session in (before, lake.spark.newSession(), lake.spark):
            assert rows_of(session.sql("SELECT id FROM s.t")) == [(1,)]
        before.sql("INSERT INTO s.t VALUES (2, 'b')")
        assert rows_of(lake.spark.table("s.t")) == [(1, "a"), (2, "b")]
    finally:
        lake.spark.sql("DROP DATABASE IF EXISTS s CASCADE")


def test_the_active_session_does_not_change(lake: TestLake) -> None:
    sessions: Any = lake.spark._jvm.org.apache.spark.sql.classic.SparkSession
    active = sessions.getActiveSession().get()
    paimon(lake.spark.newSession(), {"warehouse": str(lake.warehouse)})
    assert sessions.getActiveSession().get().equals(active)
