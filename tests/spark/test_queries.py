"""A few random queries and writes on Spark; ``make queries`` runs many."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema
from table_format.table.read.scan import Scan
from tests.queries.queries import Query, Reading
from tests.queries.run import Batch, Outcome, _differences, _Frames, search_table
from tests.queries.sessions import settings_of
from tests.queries.tables import DATABASE, RandomTable
from tests.queries.writes import search_writes
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark


@pytest.fixture
def random_lake(lake: TestLake) -> Any:
    lake.lake.catalog.create_database(DATABASE)
    return lake.lake


def test_random_queries_return_the_rows_of_a_single_process(random_lake: Any) -> None:
    outcome = Outcome()
    for number in range(3):
        search_table(random_lake, 0, number, 8, outcome)
    assert outcome.differences == []
    assert outcome.queries >= 24


def test_random_writes_store_the_rows_of_a_single_process(random_lake: Any) -> None:
    outcome = Outcome()
    search_writes(random_lake, 0, range(4), outcome)
    assert outcome.differences == []


def test_an_extra_row_is_detected_and_printed_as_a_script(random_lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Scan.to_arrow
    monkeypatch.setattr(Scan, "to_arrow", lambda scan: read(scan).slice(1))
    outcome = Outcome()
    search_table(random_lake, 0, 0, 10, outcome)
    assert outcome.differences
    assert "too many: [(" in outcome.differences[0]
    assert "python -m tests.queries --seed 0 --table 0 --query" in outcome.differences[0]


def test_an_error_on_a_row_of_the_other_side_of_a_join_is_one_of_spark_itself(random_lake: Any) -> None:
    schema = pa.schema([("id", pa.int64()), ("z", pa.int32())])
    table = random_lake.catalog.create_table(f"{DATABASE}.t", Schema.from_arrow(schema))
    table.append(pa.table({"id": [1, 2, 4], "z": [0, 5, 2]}, schema=schema))
    table = table.current()
    readings = (Reading({}, "id = 3"), Reading({}, None))
    steps = (
        ".where('10 / z > 1').groupBy('z').count()"
        f".join(OTHER('{DATABASE}.t', None, {{}}).select(F.col('z').alias('jk')), F.col('z') == F.col('jk'))"
    )
    query = Query(f"lake.table('{DATABASE}.t', filter='id = 3')", "rows[0]", readings, steps)
    rows = {reading.key: table.scan(filter=reading.filter).to_arrow() for reading in readings}
    fields = {reading.key: table.schema.fields for reading in readings}
    found = RandomTable(f"{DATABASE}.t", table, "none")
    batch = Batch(found, 0, {}, {}, [query], rows, fields)
    frame = _Frames(random_lake, batch).found(query)
    # Planning again while it runs, Spark leaves the other side out if it first sees that this side has no rows.
    with settings_of(random_lake.spark, {"spark.sql.adaptive.enabled": "false"}):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            frame.collect()
        assert _differences(random_lake, batch, [0], Outcome()) == []
