"""The IO manager on the pure library: write modes, exactly once, metadata, schema changes, time travel. No JVM."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dagster_paimon.io.io_manager import PaimonIOManager
from table_format import Schema, Table
from table_format.engine.support import consumed_by
from table_format.model.types import DecimalType
from tests.support.dagster_project import Project, a_project

pytestmark = pytest.mark.dagster

SALES = pa.schema([("id", pa.int64()), ("amount", pa.int64()), ("dt", pa.string())])
DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01", end_date="2026-01-11")


def sales(day: str, *amounts: int) -> pa.Table:
    rows = [{"id": number, "amount": amount, "dt": day} for number, amount in enumerate(amounts)]
    return pa.Table.from_pylist(rows, schema=SALES)


def a_daily_asset(make: Any, **metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(
        key=["shop", "sales"],
        partitions_def=DAYS,
        io_manager_key="paimon_io",
        metadata={"partition_expr": "dt", **metadata},
    )
    def daily_sales(context: dg.AssetExecutionContext) -> pa.Table:
        return pa.concat_tables([make(day) for day in context.partition_keys])

    return daily_sales


def an_asset(make: Any, retry_policy: dg.RetryPolicy | None = None, **metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io", metadata=metadata, retry_policy=retry_policy)
    def items() -> pa.Table:
        return make()

    return items


def materializations(result: Any) -> dict[str, dict[str, Any]]:
    """Return the metadata values by partition of the only asset of a run."""
    events = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    return {event.partition: {k: v.value for k, v in event.metadata.items()} for event in events}


def test_repeating_a_day_replaces_only_that_day(project: Project) -> None:
    project.run(a_daily_asset(lambda day: sales(day, 1, 2)), days=("2026-01-01", "2026-01-03"))
    project.run(a_daily_asset(lambda day: sales(day, 7)), days="2026-01-02")
    found = [(row["dt"], row["amount"]) for row in project.rows("shop.sales")]
    assert sorted(found) == [
        ("2026-01-01", 1),
        ("2026-01-01", 2),
        ("2026-01-02", 7),
        ("2026-01-03", 1),
        ("2026-01-03", 2),
    ]


def test_a_range_is_one_commit_and_every_day_reports_its_own_rows(project: Project) -> None:
    asset = a_daily_asset(lambda day: sales(day, *range(int(day[-2:]))))
    found = materializations(project.run(asset, days=("2026-01-01", "2026-01-03")))
    assert {day: metadata["dagster/partition_row_count"] for day, metadata in found.items()} == {
        "2026-01-01": 1,
        "2026-01-02": 2,
        "2026-01-03": 3,
    }
    assert {metadata["paimon/snapshot_id"] for metadata in found.values()} == {1}
    assert {metadata["dagster/row_count"] for metadata in found.values()} == {6}
    assert len(project.table("shop.sales").snapshots()) == 1


def test_a_day_without_rows_becomes_empty(project: Project) -> None:
    project.run(a_daily_asset(lambda day: sales(day, 1)), days=("2026-01-01", "2026-01-03"))
    only_third = a_daily_asset(lambda day: sales(day, 5) if day.endswith("03") else sales(day))
    found = materializations(project.run(only_third, days=("2026-01-02", "2026-01-03")))
    assert found["2026-01-02"]["dagster/partition_row_count"] == 0
    assert [(row["dt"], row["amount"]) for row in project.rows("shop.sales")] == [("2026-01-01", 1), ("2026-01-03", 5)]
    assert len(project.table("shop.sales").snapshots()) == 2


EMPTY_DAYS = {
    "pandas, columns only": lambda: pd.DataFrame(columns=["id", "amount", "dt"]),
    "pandas, empty lists": lambda: pd.DataFrame({"id": [], "amount": [], "dt": []}),
    "pandas, no columns": pd.DataFrame,
    "pandas, filtered": lambda: sales("2026-01-02", 1).to_pandas().query("id > 9"),
    "polars": lambda: pl.DataFrame({"id": [], "amount": [], "dt": []}),
    "pyarrow": lambda: pa.table({"id": [], "amount": [], "dt": []}),
    "duckdb": lambda: duckdb.sql("SELECT NULL AS id, NULL AS amount, '2026-01-02' AS dt WHERE false"),
}


@pytest.mark.parametrize("make", EMPTY_DAYS.values(), ids=EMPTY_DAYS.keys())
def test_a_day_becomes_empty_with_every_kind_of_frame_without_rows(project: Project, make: Any) -> None:
    first = [sales(day, 1) for day in ("2026-01-01", "2026-01-02")]
    for day, frame in zip(("2026-01-01", "2026-01-02"), first, strict=True):
        project.run(a_frame_of_a_day(frame), days=day)
    project.run(a_frame_of_a_day(make()), days="2026-01-02")
    assert project.rows("shop.sales") == first[0].to_pylist()
    assert project.table("shop.sales").schema.id == 0


def a_frame_of_a_day(frame: Any) -> dg.AssetsDefinition:
    @dg.asset(key=["shop", "sales"], partitions_def=DAYS, io_manager_key="paimon_io", metadata={"partition_expr": "dt"})
    def daily_sales() -> Any:
        return frame

    return daily_sales


@pytest.mark.parametrize("to_frame", [pa.Table.to_pandas, pl.from_arrow, lambda table: table], ids=["pd", "pl", "pa"])
def test_a_column_may_hold_only_nulls_on_some_days(project: Project, to_frame: Any) -> None:
    project.run(a_daily_asset(lambda day: sales(day, 1)), days="2026-01-01")
    nulls = to_frame(pa.table({"id": [0], "amount": pa.nulls(1), "dt": ["2026-01-02"], "note": pa.nulls(1)}))
    project.run(a_frame_of_a_day(nulls), days="2026-01-02")
    assert [row["amount"] for row in project.rows("shop.sales")] == [1, None]
    assert project.table("shop.sales").schema.field_names == ("id", "amount", "dt")


def test_a_new_table_needs_the_types_of_its_columns(project: Project) -> None:
    with pytest.raises(dg.Failure, match=r"shop\.items does not exist.*only nulls in amount.*cast"):
        project.run(an_asset(lambda: pa.table({"id": [1], "amount": pa.nulls(1)})))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"paimon/write_mode": "upsert"}, "needs a table with a primary key"),
        ({"paimon/write_mode": "append", "paimon/primary_key": "id", "paimon/options": {"bucket": 1}}, "is an upsert"),
        ({"paimon/write_mode": "delete"}, "needs a primary key"),
        ({"paimon/write_mode": "upsert", "paimon/primary_key": "key"}, "primary key column 'key' does not exist"),
    ],
)
def test_an_asset_whose_metadata_is_wrong_creates_no_table(
    project: Project, metadata: dict[str, Any], message: str
) -> None:
    with pytest.raises(dg.Failure, match=message):
        project.run(an_asset(lambda: pa.table({"id": [1]}), **metadata))
    corrected = {"paimon/write_mode": "upsert", "paimon/primary_key": "id", "paimon/options": {"bucket": "1"}}
    project.run(an_asset(lambda: pa.table({"id": [1]}), **corrected))
    assert project.rows("shop.items") == [{"id": 1}]


UPSERT = {"paimon/write_mode": "upsert", "paimon/primary_key": "id", "paimon/options": {"bucket": "1"}}


@pytest.mark.parametrize(
    ("rows", "message"),
    [({"id": [1, None]}, "found 1 null"), ({"id": [1], "_row_kind": ["?"]}, "a row kind is one of")],
)
def test_a_first_run_whose_rows_are_refused_creates_no_table(
    project: Project, rows: dict[str, Any], message: str
) -> None:
    with pytest.raises(dg.Failure, match=message):
        project.run(an_asset(lambda: pa.table(rows), **UPSERT))
    assert not project.lakehouse.catalog().table_exists("shop.items")


def test_a_first_run_with_rows_of_another_day_creates_no_table(project: Project) -> None:
    with pytest.raises(dg.Failure, match=r"dt = 2026-01-03.*2026-01-02"):
        project.run(a_daily_asset(lambda day: sales("2026-01-03", 1)), days="2026-01-02")
    assert not project.lakehouse.catalog().table_exists("shop.sales")


@pytest.mark.parametrize(
    ("value", "message"), [("2026-01-09", "dt = 2026-01-09.*2026-01-02"), (None, "dt = null.*2026-01-02")]
)
def test_rows_outside_the_run_are_refused_and_nothing_is_written(
    project: Project, value: str | None, message: str
) -> None:
    project.run(a_daily_asset(lambda day: sales(day, 1)), days="2026-01-02")
    stray = pa.table({"id": [0, 1], "amount": [1, 2], "dt": pa.array(["2026-01-02", value], pa.string())})
    with pytest.raises(dg.Failure, match=message):
        project.run(a_daily_asset(lambda day: stray), days="2026-01-02")
    assert len(project.table("shop.sales").snapshots()) == 1
    root = project.table("shop.sales").store.paths.root
    assert len(list(Path(root).rglob("*.parquet"))) == 1


def test_upsert_replaces_and_deletes_by_key(project: Project) -> None:
    options = {"paimon/write_mode": "upsert", "paimon/primary_key": "id", "paimon/options": {"bucket": 1}}
    project.run(an_asset(lambda: pa.table({"id": [1, 2, 3], "amount": [10, 20, 30]}), **options))
    change = pa.table({"id": [2, 3, 4], "amount": [21, None, 40], "_row_kind": ["+U", "-D", "+I"]})
    found = materializations(project.run(an_asset(lambda: change, **options)))
    assert [(row["id"], row["amount"]) for row in project.rows("shop.items")] == [(1, 10), (2, 21), (4, 40)]
    assert found[None]["dagster/row_count"] == 3
    assert found[None]["paimon/snapshot_id"] == 2


def test_append_appends_and_overwrite_table_replaces_all(project: Project) -> None:
    append, replace = {"paimon/write_mode": "append"}, {"paimon/write_mode": "overwrite_table"}
    for _ in range(2):
        project.run(an_asset(lambda: pa.table({"id": [1]}), **append))
    assert len(project.rows("shop.items")) == 2
    project.run(an_asset(lambda: pa.table({"id": [5]}), **replace))
    assert project.rows("shop.items") == [{"id": 5}]


class CrashesOnceAfterCommit(PaimonIOManager):
    """Dies after the commit and before the materialization event of its first write."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        super().handle_output(context, obj)
        if context.step_context.previous_attempt_count == 0:
            message = "killed"
            raise OSError(message)


@pytest.mark.parametrize("mode", ["append", "upsert", "overwrite_table"])
def test_a_step_retried_after_a_crash_between_commit_and_event_does_not_write_twice(
    project: Project, mode: str
) -> None:
    runs: list[int] = []

    @dg.asset(
        key=["shop", "items"],
        io_manager_key="paimon_io",
        metadata={
            "paimon/write_mode": mode,
            **({"paimon/primary_key": "id", "paimon/options": {"bucket": "1"}} if mode == "upsert" else {}),
        },
        retry_policy=dg.RetryPolicy(max_retries=1),
    )
    def items() -> pa.Table:
        runs.append(1)
        return pa.table({"id": [1, 2], "amount": [10, 20]})

    crashing = CrashesOnceAfterCommit(lakehouse=project.lakehouse, spark=project.resources["spark"])
    project.resources["paimon_io"] = crashing
    result = project.run(items)
    assert result.success
    assert len(runs) == 2
    assert len(project.rows("shop.items")) == 2
    assert len(project.table("shop.items").snapshots()) == 1
    (told,) = materializations(result).values()
    assert (told["paimon/snapshot_id"], told["paimon/repeated"], told["dagster/row_count"]) == (1, True, 2)


@pytest.mark.parametrize("mode", ["overwrite_partition", "overwrite_table"])
def test_a_step_that_fails_after_its_commit_replaces_its_rows_when_it_is_retried(project: Project, mode: str) -> None:
    attempts: list[int] = []

    @dg.asset(
        key=["shop", "items"],
        io_manager_key="paimon_io",
        partitions_def=DAYS,
        metadata={"paimon/write_mode": mode, "partition_expr": "day"},
        retry_policy=dg.RetryPolicy(max_retries=1),
    )
    def items(context: dg.AssetExecutionContext) -> Iterator[dg.Output[pa.Table]]:
        attempts.append(1)
        yield dg.Output(pa.table({"day": ["2026-01-01"], "attempt": [len(attempts)]}))
        if len(attempts) == 1:
            message = "the step fails after its output"
            raise OSError(message)

    result = project.run(items, days="2026-01-01")
    assert project.rows("shop.items") == [{"day": "2026-01-01", "attempt": 2}]
    told = materializations(result)["2026-01-01"]
    assert (told["paimon/snapshot_id"], told["paimon/repeated"]) == (2, False)


SUMS = {
    "paimon/primary_key": "id",
    "paimon/options": {"bucket": "1", "merge-engine": "aggregation", "fields.amount.aggregate-function": "sum"},
}


def retried(project: Project, mode: str, between: Callable[[Table], None], *, is_killed: bool = False) -> Any:
    """The result of a run whose step is retried after its commit, with what others do between the attempts."""
    attempts: list[int] = []

    @dg.asset(
        key=["shop", "items"],
        io_manager_key="paimon_io",
        metadata={"paimon/write_mode": mode, **(SUMS if mode == "upsert" else {})},
        retry_policy=dg.RetryPolicy(max_retries=1),
    )
    def items() -> Iterator[dg.Output[pa.Table]]:
        attempts.append(1)
        if len(attempts) == 2:
            between(project.table("shop.items"))
        yield dg.Output(pa.table({"id": [1], "amount": [10]}))
        if len(attempts) == 1:
            message = "the step fails after its output"
            raise OSError(message)

    if is_killed:
        crashing = CrashesOnceAfterCommit(lakehouse=project.lakehouse, spark=project.resources["spark"])
        project.resources["paimon_io"] = crashing
    return project.run(items, raise_on_error=False)


def others_commit_and_snapshots_expire(table: Table) -> None:
    for _ in range(2):
        table.append(pa.table({"id": [2], "amount": [20]}))
    table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_retry_does_not_write_rows_twice_whose_snapshot_has_expired(project: Project, mode: str) -> None:
    result = retried(project, mode, others_commit_and_snapshots_expire)
    assert result.success
    assert [row["amount"] for row in project.rows("shop.items") if row["id"] == 1] == [10]
    (told,) = materializations(result).values()
    assert (told["paimon/repeated"], "paimon/snapshot_id" in told) == (True, False)


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_retry_is_refused_if_it_cannot_know_whether_a_killed_attempt_has_written(project: Project, mode: str) -> None:
    result = retried(project, mode, others_commit_and_snapshots_expire, is_killed=True)
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    said = failed.step_failure_data.user_failure_data.description
    assert said.startswith("shop.items: an earlier attempt of this step began to commit at ")
    assert "if they are missing, start a new run" in said
    assert [row["amount"] for row in project.rows("shop.items") if row["id"] == 1] == [10]


def test_a_retry_of_an_attempt_that_ended_before_its_commit_writes_its_rows(project: Project) -> None:
    attempts: list[int] = []

    def frame() -> Iterator[pa.RecordBatch]:
        attempts.append(1)
        if len(attempts) == 1:
            others_commit_and_snapshots_expire(project.lakehouse.catalog().load_table("shop.items"))
            message = "the source of the rows fails"
            raise OSError(message)
        yield pa.record_batch({"id": [1], "amount": [10]})

    columns = pa.schema([("id", pa.int64()), ("amount", pa.int64())])
    catalog = project.lakehouse.catalog()
    catalog.create_database("shop")
    catalog.create_table("shop.items", Schema.from_arrow(columns))

    @dg.asset(
        key=["shop", "items"],
        io_manager_key="paimon_io",
        metadata={"paimon/write_mode": "append"},
        retry_policy=dg.RetryPolicy(max_retries=1),
    )
    def items() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(columns, frame())

    assert project.run(items).success
    assert [row["id"] for row in project.rows("shop.items")] == [1, 2, 2]


def test_a_retry_writes_rows_again_that_were_rolled_back(project: Project) -> None:
    before = project.lakehouse.catalog()
    before.create_database("shop")
    columns = pa.schema([("id", pa.int64()), ("amount", pa.int64())])
    table = before.create_table("shop.items", Schema.from_arrow(columns))
    table.append(pa.table({"id": [3], "amount": [30]}))
    assert retried(project, "append", lambda table: table.rollback_to(1)).success
    assert [row["id"] for row in project.rows("shop.items")] == [1, 3]


APPENDED = {"paimon/table": "shop.items", "paimon/write_mode": "append"}


@dg.multi_asset(
    outs={name: dg.AssetOut(key=["shop", name], io_manager_key="paimon_io", metadata=APPENDED) for name in ("a", "b")}
)
def two_outputs() -> tuple[pa.Table, pa.Table]:
    return pa.table({"id": [1]}), pa.table({"id": [2]})


def test_two_outputs_of_a_step_are_both_written_to_one_table(project: Project) -> None:
    project.run(two_outputs)
    assert project.rows("shop.items") == [{"id": 1}, {"id": 2}]


def test_each_dynamic_output_is_written_once(project: Project) -> None:
    attempts: list[int] = []

    @dg.op(out=dg.DynamicOut(io_manager_key="paimon_io", metadata=APPENDED), retry_policy=dg.RetryPolicy(max_retries=1))
    def parts() -> Iterator[dg.DynamicOutput[pa.Table]]:
        attempts.append(1)
        for number in (1, 2):
            yield dg.DynamicOutput(pa.table({"id": [number]}), mapping_key=str(number))
        if len(attempts) == 1:
            message = "killed"
            raise OSError(message)

    @dg.job(resource_defs=project.resources)
    def split() -> None:
        parts()

    assert split.execute_in_process(instance=project.instance).success
    assert len(attempts) == 2
    assert project.rows("shop.items") == [{"id": 1}, {"id": 2}]


def test_a_run_that_a_user_starts_again_writes_again(project: Project) -> None:
    asset = an_asset(lambda: pa.table({"id": [1]}), **{"paimon/write_mode": "append"})
    first = project.run(asset)
    again = {"dagster/parent_run_id": first.run_id, "dagster/root_run_id": first.run_id}
    project.run(asset, tags=again)
    assert len(project.rows("shop.items")) == 2


def test_the_reported_snapshot_is_the_one_of_the_step(project: Project) -> None:
    """Another writer commits between the commit of a step and its report, which is created when the step is retried."""
    others = iter([3])

    class CrashesAndOthersCommit(CrashesOnceAfterCommit):
        def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
            for number in others if context.step_context.previous_attempt_count else ():
                project.table("shop.items").append(pa.table({"id": [number]}))
            super().handle_output(context, obj)

    asset = an_asset(
        lambda: pa.table({"id": [1]}), retry_policy=dg.RetryPolicy(max_retries=1), **{"paimon/write_mode": "append"}
    )
    project.resources["paimon_io"] = CrashesAndOthersCommit(
        lakehouse=project.lakehouse, spark=project.resources["spark"]
    )
    (told,) = materializations(project.run(asset)).values()
    assert [snapshot.id for snapshot in project.table("shop.items").snapshots()] == [1, 2]
    assert (told["paimon/snapshot_id"], told["dagster/row_count"]) == (1, 2)


def test_snapshots_record_the_run_and_its_inputs(project: Project) -> None:
    source = an_asset(lambda: pa.table({"id": [1]}), **{"paimon/write_mode": "append"})

    @dg.asset(
        key=["shop", "copy"],
        io_manager_key="paimon_io",
        ins={"items": dg.AssetIn(key=["shop", "items"])},
        metadata={"paimon/write_mode": "overwrite_table"},
    )
    def copy(items: pa.Table) -> pa.Table:
        return items

    result = project.run([source, copy])
    (snapshot,) = project.table("shop.copy").snapshots()
    assert snapshot.properties["dagster.run_id"] == result.run_id
    assert snapshot.properties["dagster.asset"] == "shop/copy"
    assert snapshot.properties["consumed.shop.items"] == "1"


@pytest.mark.parametrize("mode", ["append", "overwrite_table", "upsert"])
def test_a_snapshot_has_the_watermark_of_its_asset_or_output(project: Project, mode: str) -> None:
    keys = {"paimon/primary_key": "id", "paimon/options": {"bucket": "1"}} if mode == "upsert" else {}
    metadata = {"paimon/write_mode": mode, "paimon/watermark": 5, **keys}

    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io", metadata=metadata)
    def items(context: dg.AssetExecutionContext) -> pa.Table:
        if "watermark" in context.run.tags:
            context.add_output_metadata({"paimon/watermark": int(context.run.tags["watermark"])})
        return pa.table({"id": [1]})

    project.run(items)
    for watermark in ("7", "6"):
        project.run(items, tags={"watermark": watermark})
    assert [snapshot.watermark for snapshot in project.table("shop.items").snapshots()] == [5, 7, 7]


def test_staleness_follows_the_snapshot(project: Project) -> None:
    project.run(an_asset(lambda: pa.table({"id": [1]}), **{"paimon/write_mode": "append"}))
    event = project.instance.get_latest_materialization_event(dg.AssetKey(["shop", "items"]))
    assert event is not None
    assert event.asset_materialization is not None
    tags = event.asset_materialization.tags or {}
    assert tags["dagster/data_version"].startswith("snapshot-1-")


def test_a_new_column_and_a_wider_type_change_the_table_and_old_days_still_fit(project: Project) -> None:
    narrow, wide = pa.decimal128(10, 2), pa.decimal128(12, 2)

    def make(day: str) -> pa.Table:
        if day < "2026-01-08":
            return pa.table({"id": [1], "amount": pa.array([1], narrow), "dt": [day]})
        return pa.table({"id": [2], "amount": pa.array([2], wide), "coupon": ["SPRING"], "dt": [day]})

    asset = a_daily_asset(make)
    for day in ("2026-01-07", "2026-01-08", "2026-01-06"):
        project.run(asset, days=day)
    schema = project.table("shop.sales").schema
    assert schema.id == 1
    assert schema.field("amount").type == DecimalType(precision=12, scale=2)
    assert [(row["dt"], row["coupon"]) for row in sorted(project.rows("shop.sales"), key=lambda r: r["dt"])] == [
        ("2026-01-06", None),
        ("2026-01-07", None),
        ("2026-01-08", "SPRING"),
    ]


def test_a_schema_change_that_is_not_allowed_fails_without_retry(tmp_path: Any) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        project = a_project(tmp_path, instance, schema_evolution="error")
        project.run(an_asset(lambda: pa.table({"id": [1]}), **{"paimon/write_mode": "append"}))
        wider = an_asset(lambda: pa.table({"id": [1], "note": ["x"]}), **{"paimon/write_mode": "append"})
        with pytest.raises(dg.Failure, match=r"note.*add_columns") as raised:
            project.run(wider)
        assert raised.value.allow_retries is False


def test_column_schema_shows_types_of_the_format_keys_and_comments(project: Project) -> None:
    asset = an_asset(
        lambda: pa.table({"id": [1], "amount": pa.array([1], pa.decimal128(10, 2))}),
        **{
            "paimon/write_mode": "upsert",
            "paimon/primary_key": ["id"],
            "paimon/options": {"bucket": "1"},
            "paimon/comments": {"amount": "in euros"},
        },
    )
    (told,) = materializations(project.run(asset)).values()
    schema = told["dagster/column_schema"]
    assert [(c.name, c.type, c.description, c.constraints.nullable) for c in schema.columns] == [
        ("id", "BIGINT", None, False),
        ("amount", "DECIMAL(10, 2)", "in euros", True),
    ]
    assert schema.constraints.other == ["PRIMARY KEY (id)"]
    assert told["dagster/table_name"] == "shop.items"


def test_plots_are_pictures_in_markdown(project: Project) -> None:
    (told,) = materializations(project.run(an_asset(lambda: pa.table({"id": [1]})))).values()
    for name in ("rows by snapshot", "bytes by level", "files by size"):
        assert told[name].startswith("![")
        assert "data:image/svg+xml;base64," in told[name]


def a_reader(annotation: Any, seen: list[Any], **metadata: Any) -> dg.AssetsDefinition:
    def body(items: Any) -> None:
        seen.append(items.read_all() if isinstance(items, pa.RecordBatchReader) else items)

    body.__annotations__ = {"items": annotation, "return": None}
    decorate = dg.asset(key=["shop", "reader"], ins={"items": dg.AssetIn(key=["shop", "items"], metadata=metadata)})
    return decorate(body)


@pytest.mark.parametrize("annotation", [pa.Table, pa.RecordBatchReader])
def test_an_input_is_loaded_with_the_annotated_type(project: Project, annotation: type) -> None:
    source = an_asset(lambda: pa.table({"id": [1, 2], "amount": [5, 6]}))
    project.run(source)
    seen: list[pa.Table] = []
    reader = a_reader(annotation, seen, columns=["amount"])
    project.run([source, reader], selection=[reader])
    assert seen[0].to_pydict() == {"amount": [5, 6]}


def test_an_input_annotated_with_another_type_is_refused_with_advice(project: Project) -> None:
    source = an_asset(lambda: pa.table({"id": [1]}))
    project.run(source)
    reader = a_reader(int, [])
    with pytest.raises(dg.DagsterInvariantViolationError, match=r"annotate it with .*SparkFrame.*polars"):
        project.run([source, reader], selection=[reader])


@pytest.mark.parametrize(
    ("named", "tag", "rows"),
    [
        ({}, {}, 2),
        ({"paimon/read": "snapshot:1"}, {}, 1),
        ({}, {"paimon/as_of": "snapshot:1"}, 1),
        ({"paimon/read": "latest"}, {"paimon/as_of": "snapshot:1"}, 2),
    ],
)
def test_metadata_of_an_input_or_a_run_tag_select_an_earlier_state(
    project: Project, named: dict[str, str], tag: dict[str, str], rows: int
) -> None:
    source = an_asset(lambda: pa.table({"id": [1]}), **{"paimon/write_mode": "append"})
    project.run(source)
    project.run(source)
    seen: list[pa.Table] = []
    reader = a_reader(pa.Table, seen, **named)
    project.run([source, reader], selection=[reader], tags=tag)
    assert seen[0].num_rows == rows


def test_a_daily_input_loads_the_days_of_the_run_or_all_from_the_first(project: Project) -> None:
    source = a_daily_asset(lambda day: sales(day, 1))
    project.run(source, days=("2026-01-01", "2026-01-05"))
    seen: list[set[str]] = []

    def reader(name: str, **metadata: Any) -> dg.AssetsDefinition:
        @dg.asset(
            name=name,
            partitions_def=DAYS,
            ins={"rows": dg.AssetIn(key=["shop", "sales"], metadata=metadata)},
        )
        def read(rows: pa.Table) -> None:
            seen.append(set(rows["dt"].to_pylist()))

        return read

    exact, open_end = reader("exact"), reader("open_end", **{"paimon/open_end": True})
    project.run([source, exact], selection=[exact], days=("2026-01-02", "2026-01-03"))
    project.run([source, open_end], selection=[open_end], days=("2026-01-02", "2026-01-03"))
    assert seen == [
        {"2026-01-02", "2026-01-03"},
        {"2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"},
    ]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"paimon/write_mode": "merge"}, "write_mode 'merge'.*append.*upsert"),
        ({"paimon/primary_kye": "id"}, "paimon/primary_kye.*paimon/primary_key"),
        ({"paimon/partition_scope": "input"}, "partition_scope 'input' with overwrite_partition"),
        ({"paimon/write_mode": "upsert"}, "upsert needs a table with a primary key"),
        (
            {"paimon/write_mode": "append", "paimon/primary_key": "id", "paimon/options": {"bucket": "1"}},
            "appending to it is an upsert",
        ),
    ],
)
def test_invalid_metadata_is_refused(project: Project, metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(dg.Failure, match=message):
        project.run(an_asset(lambda: pa.table({"id": [1]}), **metadata))


def test_the_error_names_the_type_of_a_value_that_is_not_a_frame(project: Project) -> None:
    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io")
    def items() -> Any:
        return [1, 2, 3]

    with pytest.raises(TypeError, match="found list"):
        project.run(items)


def test_a_stream_is_written_without_loading_it_completely(project: Project) -> None:
    def make() -> pa.RecordBatchReader:
        schema = pa.schema([("id", pa.int64())])

        def batches() -> Iterator[pa.RecordBatch]:
            for start in range(0, 30, 10):
                yield pa.record_batch({"id": list(range(start, start + 10))}, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io")
    def items() -> pa.RecordBatchReader:
        return make()

    project.run(items)
    assert len(project.rows("shop.items")) == 30


def test_a_table_is_loaded_without_a_run(project: Project) -> None:
    plain = an_asset(lambda: pa.table({"id": [1], "amount": [10]}))
    daily = a_daily_asset(lambda day: sales(day, 1))
    for day in ("2026-01-01", "2026-01-02"):
        project.run(daily, days=day)
    project.run(plain)
    definitions = dg.Definitions(assets=[plain, daily], resources=project.resources)
    with definitions.get_asset_value_loader(instance=project.instance) as loader:
        assert loader.load_asset_value(["shop", "items"]).to_pylist() == [{"id": 1, "amount": 10}]
        frame = loader.load_asset_value(["shop", "items"], python_type=pd.DataFrame)
        assert isinstance(frame, pd.DataFrame)
        assert len(loader.load_asset_value(["shop", "sales"])) == 2
        one_day = loader.load_asset_value(["shop", "sales"], partition_key="2026-01-02", python_type=pl.DataFrame)
        assert one_day["dt"].to_list() == ["2026-01-02"]
        earlier = {"paimon/read": "snapshot:1", "columns": ["dt"]}
        found = loader.load_asset_value(["shop", "sales"], input_definition_metadata=earlier)
        assert found.to_pylist() == [{"dt": "2026-01-01"}]


def test_a_test_of_a_user_loads_an_input(project: Project) -> None:
    project.run(an_asset(lambda: pa.table({"id": [1]})))
    context = dg.build_input_context(asset_key=dg.AssetKey(["shop", "items"]), resources=project.resources)
    assert project.resources["paimon_io"].load_input(context).to_pylist() == [{"id": 1}]


def test_every_output_of_a_step_records_the_inputs_of_the_step(project: Project) -> None:
    @dg.asset(key=["shop", "orders"], io_manager_key="paimon_io")
    def source() -> pa.Table:
        return pa.table({"id": [1, 2]})

    @dg.multi_asset(
        outs={name: dg.AssetOut(key=["shop", name], io_manager_key="paimon_io") for name in ("first", "second")},
        ins={"orders": dg.AssetIn(["shop", "orders"])},
    )
    def split(orders: pa.Table) -> Iterator[dg.Output[pa.Table]]:
        yield dg.Output(orders.slice(0, 1), "first")
        yield dg.Output(orders.slice(1), "second")

    project.run([source, split])
    read = [consumed_by(project.table(f"shop.{name}").latest_snapshot()) for name in ("first", "second")]
    assert [{table: state.id for table, state in found.items()} for found in read] == [{"shop.orders": 1}] * 2


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pd.DataFrame({"shop": [1, 1], "sold": [1, 2]}).groupby("shop").sum(), "call reset_index"),
        (pl.DataFrame({"shop": [object()]}), "Python objects in shop"),
        (pl.LazyFrame({"shop": [object()]}), "Python objects in shop"),
    ],
)
def test_a_frame_that_would_lose_values_is_refused_without_a_table(project: Project, frame: Any, reason: str) -> None:
    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io")
    def items():
        return frame

    result = project.run(items, raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert reason in failure.step_failure_data.error.to_string()
    assert not project.lakehouse.catalog().table_exists("shop.items")


KEYED = {"paimon/write_mode": "upsert", "paimon/primary_key": ["id"], "paimon/options": {"bucket": "1"}}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"paimon/primary_key": ["id", "v"]}, r"paimon/primary_key is \(id, v\), but the primary key .*: \(id\)"),
        ({"paimon/partition_by": "v"}, r"paimon/partition_by is \(v\), but the partition columns .*: \(\)"),
    ],
)
def test_keys_that_the_table_does_not_have_are_refused(project: Project, changed: dict[str, Any], reason: str) -> None:
    rows = pa.table({"id": [1, 1], "v": [1, 2]})
    project.run(an_asset(lambda: rows.slice(0, 1), **KEYED))
    result = project.run(an_asset(lambda: rows, **KEYED | changed), raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert re.search(f"shop.items: {reason}", failure.step_failure_data.error.to_string())
    assert project.rows("shop.items") == [{"id": 1, "v": 1}]
    project.run(an_asset(lambda: rows, **{key: KEYED[key] for key in ("paimon/write_mode",)}))  # keys need no mention


def test_the_error_of_an_output_names_its_table(project: Project) -> None:
    assets = an_asset(lambda: pa.table({"id": [1]}), **{"paimon/options": {"bukket": "1"}})
    result = project.run(assets, raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "shop.items: option 'bukket' is not known" in failure.step_failure_data.error.message
