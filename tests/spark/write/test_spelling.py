"""Columns of rows whose names differ from those of the table in case only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_format import Insert, Update
from table_format.errors import ColumnNotFound, InvalidData
from table_format.spark.names import Names
from tests.queries.sessions import CASE, settings_of
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

MERGE = {"write.merge-schema": "true"}
NOW = {"availableNow": True}


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        (["ID", "V"], ["id", "v"], ["id", "v"]),
        (["ID", "id"], ["id"], ["ID", "id"]),
        (["ID", "Id"], ["id"], ["ID", "Id"]),
        (["V"], ["v", "V"], ["V"]),
        (["ä"], ["Ä", "a"], ["Ä"]),
        (["x"], ["v", "V"], ["x"]),
        (["Vv"], ["vv", "VV"], ["Vv"]),
    ],
)
def test_a_name_is_that_of_the_one_column_that_differs_in_case(
    given: list[str], known: list[str], expected: list[str]
) -> None:
    assert Names(is_case_sensitive=False).spelled(given, known) == expected
    assert Names(is_case_sensitive=True).spelled(given, known) == given


def by_path(lake: TestLake, options: dict[str, str]) -> Callable[[Any], None]:
    path = lake.table().store.paths.root
    return lambda frame: frame.write.format("paimon").options(**options).mode("append").save(path)


def streamed(lake: TestLake, checkpoint: Path) -> Callable[[Any], None]:
    def by_name(frame: Any) -> None:
        lake.lake.write_stream(frame, "s.t", checkpoint=str(checkpoint / "name"), trigger=NOW).awaitTermination()
        writer = frame.writeStream.format("paimon").option("checkpointLocation", str(checkpoint / "path"))
        writer.trigger(**NOW).start(lake.table().store.paths.root).awaitTermination()

    return by_name


def test_a_session_that_ignores_case_writes_columns_in_other_cases(lake: TestLake, tmp_path: Path) -> None:
    lake.create()
    lake.create("a")
    lake.write([(9, "streamed")], name="a")
    frame = lake.frame([(1, "a", "+I"), (2, "gone", "-D")], "ID long, V string, _Row_Kind string")
    for options in ({}, MERGE):
        lake.lake.write(frame, "s.t", options=options)
        by_path(lake, options)(frame.selectExpr("ID + 2 AS Id", "V", "_ROW_KIND"))
    assert lake.rows() == [(1, "a"), (3, "a")]
    lake.lake.merge("s.t", frame, on="T.Id = S.iD", when_matched=Update({"V": "s.v"}), when_not_matched=Insert())
    streamed(lake, tmp_path)(lake.lake.read_stream("s.a").selectExpr("id AS ID", "v AS V"))
    assert lake.rows() == [(1, "a"), (2, "gone"), (3, "a"), (9, "streamed")]
    assert "exchange" in lake.lake.explain_write(frame, "s.t")
    lake.lake.write(frame.limit(1), "s.t", "overwrite")
    assert lake.rows() == [(1, "a")]
    assert lake.table().schema.id == 0


def test_a_session_that_distinguishes_case_refuses_them_and_changes_nothing(lake: TestLake, tmp_path: Path) -> None:
    lake.create()
    with settings_of(lake.spark, {CASE: "true"}):
        frame = lake.frame([(1, "a")], "ID long, V string")
        rows = lake.lake.read_stream("s.t").selectExpr("id AS ID", "v AS V")
        writes: list[Callable[[], object]] = [
            lambda: lake.lake.write(frame, "s.t"),
            lambda: lake.lake.write_to(frame, "s.t").append(),
            lambda: lake.lake.write_stream(rows, "s.t", checkpoint=str(tmp_path / "c")),
        ]
        for write in writes:
            with pytest.raises(InvalidData, match="different in case only: ID and id, V and v"):
                write()
        with pytest.raises(InvalidData, match="no value for columns of the table that admit no nulls: id BIGINT"):
            lake.lake.write(frame, "s.t", options=MERGE)
        with pytest.raises(ColumnNotFound, match="the source has no column id, v"):
            lake.lake.merge("s.t", frame, on="t.id = s.ID", when_not_matched=Insert())
    assert lake.table().schema.id == 0
    assert lake.table().snapshots() == ()


def test_rows_without_a_column_that_admits_no_nulls_do_not_change_the_schema(lake: TestLake, tmp_path: Path) -> None:
    lake.create()
    frame = lake.frame([("a", 1)], "v string, more int")
    stream = lake.lake.read_stream("s.t").selectExpr("v", "1 AS more")
    for write in (
        lambda: lake.lake.write(frame, "s.t", options=MERGE),
        lambda: by_path(lake, MERGE)(frame),
        lambda: lake.lake.write_stream(stream, "s.t", checkpoint=str(tmp_path), options=MERGE),
    ):
        with pytest.raises(
            Exception, match="no value for columns of the table that admit no nulls: id BIGINT NOT NULL"
        ):
            write()
    assert lake.table().schema.id == 0
