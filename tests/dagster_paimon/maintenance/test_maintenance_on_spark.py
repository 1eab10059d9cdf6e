"""Heavy maintenance in Spark tasks: jobs of one process share one session and give the same rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.model.schema import Schema
from table_format.model.schema_change import SetOption
from tests.support.dagster_project import Project
from tests.support.maintenance import a_keyed_table, execute

pytestmark = [pytest.mark.dagster, pytest.mark.spark]

TABLE = "sales.items"


def test_jobs_of_one_process_work_in_one_session(project: Project) -> None:
    from pyspark.sql import SparkSession

    a_keyed_table(project, TABLE, commits=6)
    project.lakehouse.catalog().alter_table(TABLE, SetOption("file-index.bitmap.columns", "value"))
    rows = project.rows(TABLE)

    found = execute(project, "rewrite_index_table", table=TABLE, on_spark=True)
    assert found["index coverage before"] == "0 of 6 files have the declared indexes"
    assert found["index coverage after"] == "6 of 6 files have the declared indexes"
    assert (found["files rewritten"], found["snapshots created"]) == (6, "7")
    session = SparkSession.getActiveSession()
    again = execute(project, "rewrite_index_table", table=TABLE, on_spark=True)
    assert (again["files rewritten"], again["snapshots created"]) == (0, "none")

    found = execute(project, "maintain_table", table=TABLE, on_spark=True)
    assert found["description"] == "1 task was due: compact"
    found = execute(project, "compact_table", table=TABLE, full=True, on_spark=True)
    assert (found["paimon/max_sorted_runs"], found["paimon/files_without_indexes"]) == (1, 0)
    found = execute(project, "rescale_table", table=TABLE, bucket=2, on_spark=True)
    assert (found["option bucket"], found["paimon/buckets"]) == ("2", 2)
    assert project.rows(TABLE) == rows

    events = pa.table({"x": pa.array([3, 1, 2], pa.int64()), "y": pa.array([1, 2, 3], pa.int64())})
    table = project.lakehouse.catalog().create_table("sales.events", Schema.from_arrow(events.schema))
    table.append(events)
    found = execute(project, "compact_table", table="sales.events", order_by=["x"], on_spark=True)
    assert found["description"] == "rows are sorted by x (order)"
    assert table.scan().to_arrow()["x"].to_pylist() == [1, 2, 3]
    assert SparkSession.getActiveSession() is session
