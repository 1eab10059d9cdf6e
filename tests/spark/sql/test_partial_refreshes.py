"""A refresh replaces only the partitions that its sources can have affected, with the rows of a refresh of all rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from table_format import RefreshReport, Schema, Table, load_catalog
from table_format.errors import ConflictError
from table_format.runtime import Runtime
from table_format.spark import Lake, paimon
from table_format.spark.sql import refresh as refresh_module
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite
from tests.support.compaction import MovableClock

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

HISTORIES: Final = int(os.environ.get("PARTIAL_REFRESHES", "1"))
DAYS: Final = ("2026-01-01", "2026-01-02", "2026-02-01", "", None)

SOURCES: Final[dict[str, dict[str, Any]]] = {
    "append": {},
    "append, partitioned": {"partition_keys": ["ds"]},
    "append, deletion vectors": {"partition_keys": ["ds"], "options": {"deletion-vectors.enabled": "true"}},
    "keyed": {"primary_keys": ["id"], "options": {"bucket": "1"}},
    "keyed by the day": {"primary_keys": ["id", "ds"], "options": {"bucket": "1"}},
    "partitioned and keyed": {"primary_keys": ["id", "ds"], "partition_keys": ["ds"], "options": {"bucket": "1"}},
    "deletion vectors": {
        "primary_keys": ["id", "ds"],
        "partition_keys": ["ds"],
        "options": {"bucket": "1", "deletion-vectors.enabled": "true"},
    },
    "keys move": {"primary_keys": ["id"], "partition_keys": ["ds"]},
    "first row": {"primary_keys": ["id", "ds"], "options": {"bucket": "1", "merge-engine": "first-row"}},
}
BY_PARTITION: Final = (
    "SELECT ds, count(*) AS n, sum(x) AS s FROM t GROUP BY ds",
    "SELECT ds, id, x FROM t WHERE x > 3",
    "SELECT substr(ds, 1, 7) AS ds, avg(x) AS a, count(DISTINCT id) AS n FROM t GROUP BY substr(ds, 1, 7)",
    "SELECT t.ds, d.name, sum(t.x) AS s FROM t JOIN d ON t.id = d.id GROUP BY t.ds, d.name",
    "SELECT t.ds, d.name, t.x FROM t LEFT JOIN d ON t.id = d.id",
    "WITH a AS (SELECT ds, max(x) AS m FROM t GROUP BY ds) SELECT coalesce(ds, 'none') AS ds, m FROM a",
    "SELECT ds, x, row_number() OVER (PARTITION BY ds ORDER BY x, id) AS r FROM t",
    "SELECT DISTINCT ds, id FROM t",
)
OTHERS: Final = (
    "SELECT ds, id FROM t WHERE x = (SELECT max(x) FROM t)",
    "SELECT d.name AS ds, sum(t.x) AS s FROM t JOIN d ON t.id = d.id GROUP BY d.name",
    "SELECT max(ds) AS ds, count(*) AS n FROM t",
    "SELECT ds, id FROM t UNION ALL SELECT name, id FROM d",
    "SELECT t.ds, d.id FROM d LEFT JOIN t ON t.id = d.id",
)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Lake:
    options = {"warehouse": str(tmp_path)}
    paimon(spark, options)  # prepares the session
    found = Lake(spark, load_catalog(options, runtime=Runtime(clock=MovableClock())))
    found.sql("CREATE DATABASE s; USE s; CREATE TABLE d (id INT, name STRING)")
    found.catalog.load_table("s.d").append(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["one", "two"]}))
    return found


SUMS: Final = "SELECT ds, sum(x) AS s FROM t GROUP BY ds"


def source(lake: Lake, **arguments: Any) -> Table:
    keys = arguments.get("primary_keys", ())
    columns = pa.schema(
        [pa.field("id", pa.int32(), nullable="id" not in keys), pa.field("ds", pa.string(), nullable="ds" not in keys)]
    )
    columns = columns.append(pa.field("x", pa.int32()))
    return lake.catalog.create_table("s.t", Schema.from_arrow(columns, **arguments))


def materialize(lake: Lake, query: str) -> None:
    lake.sql(f"CREATE MATERIALIZED TABLE m PARTITIONED BY (ds) FRESHNESS = INTERVAL '1' SECOND AS {query}")


def write(table: Table, *rows: tuple[int, str | None, int]) -> None:
    table.append(table_of(table, rows))


def table_of(table: Table, rows: Sequence[tuple[int, str | None, int]]) -> pa.Table:
    columns = zip(zip(*rows, strict=True), table.arrow_schema, strict=True)
    return pa.table([pa.array(list(values), field.type) for values, field in columns], schema=table.arrow_schema)


def rows(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.sql(text).collect()), key=repr)


def refreshed(lake: Lake, query: str) -> RefreshReport:
    """Refresh the table, and require the rows of its query."""
    report = lake.refresh("s.m")
    names = ", ".join(lake.catalog.load_table("s.m").schema.field_names)
    assert rows(lake, "SELECT * FROM m") == rows(lake, f"SELECT {names} FROM ({query})"), (query, report)  # noqa: S608
    return report


def test_only_the_partitions_of_new_rows_are_replaced(lake: Lake) -> None:
    table = materialized(lake)
    files = {f["file_path"] for f in lake.catalog.load_table("s.m$files").scan().to_arrow().to_pylist()}
    write(table, (3, "2026-01-02", 5), (3, None, 7))
    report = refreshed(lake, SUMS)
    assert report.partitions is not None
    assert sorted(report.partitions, key=repr) == [{"ds": "2026-01-02"}, {"ds": None}]
    kept = {f["file_path"] for f in lake.catalog.load_table("s.m$files").scan().to_arrow().to_pylist()}
    assert len(files & kept) == 1
    assert lake.refresh("s.m").is_skipped
    whole = lake.refresh("s.m", force=True)
    assert (whole.partitions, whole.whole_because) == (None, "all rows were asked for")


def test_a_partition_without_rows_is_emptied(lake: Lake) -> None:
    table = source(lake, primary_keys=["id", "ds"], partition_keys=["ds"], options={"bucket": "1"})
    write(table, (1, "2026-01-01", 1), (2, "2026-01-02", 2))
    materialize(lake, SUMS)
    table.delete("ds = '2026-01-01'")
    assert refreshed(lake, SUMS).partitions == ({"ds": "2026-01-01"},)
    assert rows(lake, "SELECT * FROM m") == [("2026-01-02", 2)]


def test_a_source_that_was_created_again_leads_to_a_refresh_of_all_rows(lake: Lake) -> None:
    table = source(lake)
    write(table, (1, "2026-01-01", 1), (2, "2026-01-02", 2))
    query = "SELECT t.ds, sum(t.x) AS s FROM t LEFT JOIN d ON t.id = d.id GROUP BY t.ds"
    materialize(lake, query)
    write(table, (1, "2026-01-02", 1))
    columns = lake.catalog.load_table("s.d").arrow_schema
    lake.catalog.drop_table("s.d")
    lake.catalog.create_table("s.d", Schema.from_arrow(columns))
    report = refreshed(lake, query)
    assert (report.partitions, report.whole_because) == (None, "the commits to s.d since snapshot 1 are not all known")


def test_rows_of_another_program_lead_to_a_refresh_of_all_rows(lake: Lake) -> None:
    table = materialized(lake)
    commit_elsewhere(lake)
    write(table, (3, "2026-01-02", 5))
    report = refreshed(lake, SUMS)
    assert (report.partitions, report.whole_because) == (None, "no earlier refresh of the query is known")


def test_rows_that_another_program_commits_during_a_refresh_are_noticed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = materialized(lake)
    write(table, (3, "2026-01-02", 5))
    before(monkeypatch, refresh_module, "write_frame", lambda: commit_elsewhere(lake))
    with pytest.raises(ConflictError, match="was changed by another program in the meantime"):
        lake.refresh("s.m")
    assert refreshed(lake, SUMS).partitions is None


def test_rows_that_another_program_commits_just_before_a_refresh_are_replaced_by_the_next_one(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = materialized(lake)
    write(table, (3, "2026-01-02", 5))
    before(monkeypatch, BatchCommit, "overwrite", lambda: commit_elsewhere(lake))
    assert lake.refresh("s.m").partitions == ({"ds": "2026-01-02"},)
    assert refreshed(lake, SUMS).whole_because == "no earlier refresh of the query is known"


def materialized(lake: Lake) -> Table:
    """Return the source of a table ``m`` with two partitions."""
    table = source(lake)
    write(table, (1, "2026-01-01", 1), (2, "2026-01-02", 2))
    materialize(lake, SUMS)
    return table


def before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, action: Callable[[], None]) -> None:
    """Let something happen before the next call of a function."""
    call = getattr(owner, name)

    def beside(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(owner, name, call)
        action()
        return call(*arguments, **named)

    monkeypatch.setattr(owner, name, beside)


def commit_elsewhere(lake: Lake) -> None:
    """Add a row to the materialized table as Apache Paimon can, which knows no materialized tables."""
    facts = lake.catalog.load_table("s.m").facts.as_refresh
    other = pa.table({"ds": ["2026-01-01"], "s": [100]}, pa.schema([("ds", pa.string()), ("s", pa.int64())]))
    BatchCommit(facts).commit(TableWrite(facts).write(other))


@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.parametrize("kind", SOURCES)
def test_any_change_of_a_source_gives_the_rows_of_the_query(lake: Lake, kind: str, seed: int) -> None:
    chance = Random(f"{kind} {seed}")
    table = source(lake, **SOURCES[kind])
    days = [day for day in DAYS if day is not None or "ds" not in SOURCES[kind].get("primary_keys", ())]
    write(table, *(random_row(chance, days) for _ in range(6)))
    query = chance.choice(BY_PARTITION if chance.random() < 0.8 else OTHERS)
    materialize(lake, query)
    for _ in range(3):
        for _ in range(chance.randint(1, 2)):
            change(lake, table, chance, days)
        refreshed(lake, query)


def random_row(chance: Random, days: list[str | None]) -> tuple[int, str | None, int]:
    return chance.randint(1, 4), chance.choice(days), chance.randint(0, 9)


def change(lake: Lake, table: Table, chance: Random, days: list[str | None]) -> None:
    what = chance.choice((*["write"] * 6, "delete", "update", "compact", "overwrite", "dimension"))
    if what == "write":
        write(table, *(random_row(chance, days) for _ in range(chance.randint(1, 3))))
    elif what == "compact":
        table.compact(full=True)
    elif what == "dimension":
        lake.catalog.load_table("s.d").append(pa.table({"id": pa.array([3], pa.int32()), "name": ["three"]}))
    elif what == "overwrite":
        whole = {"dynamic-partition-overwrite": "false"} if "ds" in table.schema.partition_keys else {}
        overwritten = table.copy(whole if chance.random() < 0.5 or len(table.schema.primary_keys) == 1 else {})
        overwritten.overwrite(table_of(table, [random_row(chance, days) for _ in range(2)]))
    elif table.options.merge.engine.value != "first-row":
        condition = f"id = {chance.randint(1, 4)}"
        table.delete(condition) if what == "delete" else table.update({"x": "x + 1"}, condition)
