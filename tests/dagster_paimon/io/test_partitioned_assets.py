"""Assets with all kinds of partitions, on columns of all suitable types."""

from datetime import date, datetime
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tests.support.dagster_project import Project

pytestmark = pytest.mark.dagster

DAYS = dg.DailyPartitionsDefinition(start_date="2026-03-01", end_date="2026-03-06")
HOURS = dg.HourlyPartitionsDefinition(start_date="2026-03-01-00:00", end_date="2026-03-03-00:00")
REGIONS = dg.StaticPartitionsDefinition(["eu", "us", "asia"])


def an_asset(make: Any, definition: Any, expression: Any, key: str = "lab/readings", **metadata: Any) -> Any:
    @dg.asset(
        key=key.split("/"),
        partitions_def=definition,
        io_manager_key="paimon_io",
        metadata={"partition_expr": expression, **metadata},
    )
    def readings(context: dg.AssetExecutionContext) -> pa.Table:
        return make(context.partition_keys)

    return readings


def reader(seen: list[Any], definition: Any, *, mapping: Any = None, **metadata: Any) -> dg.AssetsDefinition:
    arguments = {} if mapping is None else {"partition_mapping": mapping}  # a mapping without fields is false

    @dg.asset(
        partitions_def=definition, ins={"rows": dg.AssetIn(key=["lab", "readings"], metadata=metadata, **arguments)}
    )
    def read(rows: pa.Table) -> None:
        seen.append(rows)

    return read


def events(result: Any) -> dict[str | None, dict[str, Any]]:
    found = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    return {event.partition: {k: v.value for k, v in event.metadata.items()} for event in found}


def counts(result: Any) -> dict[str | None, Any]:
    return {key: metadata.get("dagster/partition_row_count") for key, metadata in events(result).items()}


def table(n: list[int], **columns: Any) -> pa.Table:
    return pa.table({"n": pa.array(n, pa.int64()), **columns})


# --- no partition ---------------------------------------------------------------------------------------------------


def test_a_run_without_a_partition_does_not_replace_the_rows_of_all_partitions(project: Project) -> None:
    asset = an_asset(lambda _: table([1], region=["eu"]), REGIONS, "region")
    project.run(asset, days="eu")
    modes = [{"paimon/write_mode": mode} for mode in ("overwrite_partition", "overwrite_table")]

    @dg.asset(
        key=["lab", "readings"],
        partitions_def=REGIONS,
        io_manager_key="paimon_io",
        metadata={"partition_expr": "region"},
    )
    def readings(context: dg.AssetExecutionContext) -> pa.Table:
        context.add_output_metadata(modes.pop(0))
        return table([2], region=["us"])

    result = project.run(readings, raise_on_error=False)
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    assert failed.step_failure_data.user_failure_data is not None
    said = str(failed.step_failure_data.user_failure_data.description)
    assert said.startswith("lab.readings: lab/readings has partitions, and the run has none, so overwrite_partition")
    assert project.rows("lab.readings") == [{"n": 1, "region": "eu"}]
    assert project.run(readings).success  # the mode says that all rows are replaced
    assert project.rows("lab.readings") == [{"n": 2, "region": "us"}]


# --- static and dynamic ---------------------------------------------------------------------------------------------


def test_only_one_static_partition_is_replaced_and_read(project: Project) -> None:
    def make(keys: Any) -> pa.Table:
        return table(list(range(len(keys))), region=list(keys))

    asset = an_asset(make, REGIONS, "region")
    for key in ("eu", "us", "eu"):
        project.run(asset, days=key)
    assert sorted(row["region"] for row in project.rows("lab.readings")) == ["eu", "us"]
    seen: list[pa.Table] = []
    read = reader(seen, REGIONS)
    project.run([asset, read], selection=[read], days="us")
    assert seen[0]["region"].to_pylist() == ["us"]


def test_a_dynamic_partition_of_an_integer_column(project: Project) -> None:
    tenants = dg.DynamicPartitionsDefinition(name="tenants")
    project.instance.add_dynamic_partitions("tenants", ["7", "12"])
    asset = an_asset(lambda keys: table([1], tenant=pa.array([int(keys[0])], pa.int32())), tenants, "tenant")
    for key in ("7", "12", "7"):
        project.run(asset, days=key)
    assert sorted(row["tenant"] for row in project.rows("lab.readings")) == [7, 12]
    assert project.table("lab.readings").schema.partition_keys == ("tenant",)


# --- several dimensions ---------------------------------------------------------------------------------------------

GRID = dg.MultiPartitionsDefinition({"day": DAYS, "region": REGIONS})


def grid(keys: Any) -> pa.Table:
    parts = [key.keys_by_dimension for key in map(GRID.get_partition_key_from_str, map(str, keys))]
    days = [date.fromisoformat(part["day"]) for part in parts]
    return table(list(range(len(parts))), d=pa.array(days, pa.date32()), region=[part["region"] for part in parts])


def test_partitions_of_two_dimensions_are_replaced_by_both_columns(project: Project) -> None:
    asset = an_asset(grid, GRID, {"day": "d", "region": "region"})
    for day, region in (("2026-03-01", "eu"), ("2026-03-01", "us"), ("2026-03-02", "eu"), ("2026-03-01", "eu")):
        result = project.run(asset, days=dg.MultiPartitionKey({"day": day, "region": region}))
    assert sorted((row["d"], row["region"]) for row in project.rows("lab.readings")) == [
        (date(2026, 3, 1), "eu"),
        (date(2026, 3, 1), "us"),
        (date(2026, 3, 2), "eu"),
    ]
    assert counts(result) == {"2026-03-01|eu": 1}
    seen: list[pa.Table] = []
    read = reader(seen, GRID)
    project.run([asset, read], selection=[read], days=dg.MultiPartitionKey({"day": "2026-03-01", "region": "us"}))
    assert seen[0].num_rows == 1


def test_an_asset_with_one_dimension_reads_an_asset_with_two(project: Project) -> None:
    asset = an_asset(grid, GRID, {"day": "d", "region": "region"})
    for region in ("eu", "us"):
        project.run(asset, days=dg.MultiPartitionKey({"day": "2026-03-01", "region": region}))
    seen: list[pa.Table] = []
    read = reader(seen, DAYS)
    project.run([asset, read], selection=[read], days="2026-03-01")
    assert sorted(seen[0]["region"].to_pylist()) == ["eu", "us"]


@pytest.mark.parametrize(
    ("mapping", "days"),
    [(dg.LastPartitionMapping(), ["2026-03-05"]), (dg.AllPartitionMapping(), ["2026-03-01", "2026-03-05"])],
)
@pytest.mark.parametrize("key", [None, "2026-03-02"])
def test_an_input_has_the_partitions_of_its_mapping(
    project: Project, mapping: Any, days: list[str], key: str | None
) -> None:
    asset = an_asset(lambda keys: table([1] * len(keys), day=list(map(str, keys))), DAYS, "day")
    for day in ("2026-03-01", "2026-03-05"):
        project.run(asset, days=day)
    seen: list[pa.Table] = []
    read = reader(seen, DAYS if key else None, mapping=mapping)
    project.run([asset, read], selection=[read], days=key)
    assert sorted(seen[0]["day"].to_pylist()) == days


@pytest.mark.parametrize("expression", ["d", {"day": "d"}, {"day": "d", "region": "region", "shop": "s"}])
def test_an_expression_that_does_not_name_a_column_for_each_dimension_is_refused(
    project: Project, expression: Any
) -> None:
    key = dg.MultiPartitionKey({"day": "2026-03-01", "region": "eu"})
    with pytest.raises(dg.Failure, match=r"partition_expr .*partitioned by day, region") as raised:
        project.run(an_asset(grid, GRID, expression), days=key)
    assert raised.value.allow_retries is False


# --- time windows ---------------------------------------------------------------------------------------------------


def test_a_month_of_a_date_column_replaces_all_its_days(project: Project) -> None:
    months = dg.MonthlyPartitionsDefinition(start_date="2026-01-01")
    days = {"2026-01-01": [1, 15, 31], "2026-02-01": [28]}

    def make(keys: Any) -> pa.Table:
        found = [date.fromisoformat(key).replace(day=day) for key in keys for day in days[key]]
        return table(list(range(len(found))), d=pa.array(found, pa.date32()))

    asset = an_asset(make, months, "d")
    assert counts(project.run(asset, days=("2026-01-01", "2026-02-01"))) == {"2026-01-01": 3, "2026-02-01": 1}
    days["2026-01-01"] = [2]
    project.run(asset, days="2026-01-01")
    assert [row["d"].isoformat() for row in project.rows("lab.readings")] == ["2026-01-02", "2026-02-28"]


def test_the_error_names_a_date_column_with_hourly_partitions(project: Project) -> None:
    asset = an_asset(lambda keys: table([1], d=pa.array([date(2026, 3, 1)])), HOURS, "d")
    with pytest.raises(dg.Failure, match=r"column 'd' is a DATE.*2026-03-01-05:00.*TIMESTAMP") as raised:
        project.run(asset, days="2026-03-01-05:00")
    assert raised.value.allow_retries is False
    assert not project.lakehouse.catalog().table_exists("lab.readings")


def times(*texts: str, zone: str | None = None) -> pa.Table:
    array = pa.array([datetime.fromisoformat(text) for text in texts], pa.timestamp("us"))
    return table(list(range(len(texts))), at=array.cast(pa.timestamp("us", zone)) if zone else array)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_day_of_a_timestamp_column_is_replaced_by_its_rows_in_one_commit(project: Project, zone: str | None) -> None:
    rows = {"2026-03-01": ["2026-03-01T00:00", "2026-03-01T23:59:59"], "2026-03-02": ["2026-03-02T00:00"]}
    asset = an_asset(lambda keys: times(*(t for key in keys for t in rows[key]), zone=zone), DAYS, "at")
    assert counts(project.run(asset, days=("2026-03-01", "2026-03-02"))) == {"2026-03-01": 2, "2026-03-02": 1}
    assert project.table("lab.readings").schema.partition_keys == ()
    rows["2026-03-01"] = ["2026-03-01T12:00"]
    project.run(asset, days="2026-03-01")
    found = sorted(row["at"].isoformat()[:16] for row in project.rows("lab.readings"))
    assert found == ["2026-03-01T12:00", "2026-03-02T00:00"]
    assert len(project.table("lab.readings").snapshots()) == 2
    seen: list[pa.Table] = []
    read = reader(seen, DAYS)
    project.run([asset, read], selection=[read], days="2026-03-02")
    assert seen[0].num_rows == 1


def test_hourly_partitions_of_a_timestamp_column_are_replaced_and_read(project: Project) -> None:
    rows = {"2026-03-01-00:00": ["2026-03-01T00:30"], "2026-03-01-01:00": ["2026-03-01T01:00", "2026-03-01T01:59"]}
    asset = an_asset(lambda keys: times(*(t for key in keys for t in rows[key])), HOURS, "at")
    project.run(asset, days=("2026-03-01-00:00", "2026-03-01-01:00"))
    rows["2026-03-01-01:00"] = []
    result = project.run(asset, days="2026-03-01-01:00")
    assert counts(result) == {"2026-03-01-01:00": 0}
    assert [row["at"].isoformat() for row in project.rows("lab.readings")] == ["2026-03-01T00:30:00"]


def test_a_time_outside_the_run_is_refused_and_nothing_is_written(project: Project) -> None:
    asset = an_asset(lambda keys: times("2026-03-01T10:00", "2026-03-02T00:00"), DAYS, "at")
    with pytest.raises(dg.Failure, match=r"rows of at = 2026-03-02 00:00.*2026-03-01"):
        project.run(asset, days="2026-03-01")
    assert not project.lakehouse.catalog().table_exists("lab.readings")


def test_the_error_of_a_refused_stream_says_that_its_new_table_is_empty(project: Project) -> None:
    rows = ["2026-03-01T10:00", "2026-03-02T00:00"]

    @dg.asset(
        key=["lab", "readings"], partitions_def=DAYS, io_manager_key="paimon_io", metadata={"partition_expr": "at"}
    )
    def asset() -> ds.Dataset:
        return ds.dataset(times(*rows))

    with pytest.raises(dg.Failure, match=r"rows of at = .*created lab\.readings, without rows: drop it"):
        project.run(asset, days="2026-03-01")
    assert project.rows("lab.readings") == []
    del rows[1]
    assert counts(project.run(asset, days="2026-03-01")) == {"2026-03-01": 1}
    rows.append("2026-03-02T00:00")
    with pytest.raises(dg.Failure, match=r"nothing was written$"):
        project.run(asset, days="2026-03-01")


def test_a_table_partitioned_by_time_is_replaced_by_the_partitions_of_the_window(project: Project) -> None:
    rows = {"2026-03-01": ["2026-03-01T00:00", "2026-03-01T05:00"], "2026-03-02": ["2026-03-02T00:00"]}
    asset = an_asset(
        lambda keys: times(*(t for key in keys for t in rows[key])), DAYS, "at", **{"paimon/partition_by": "at"}
    )
    project.run(asset, days=("2026-03-01", "2026-03-02"))
    rows["2026-03-01"] = ["2026-03-01T06:00"]
    project.run(asset, days="2026-03-01")
    assert sorted(row["at"].isoformat() for row in project.rows("lab.readings")) == [
        "2026-03-01T06:00:00",
        "2026-03-02T00:00:00",
    ]
    assert project.table("lab.readings").snapshots()[-1].commit_kind == "OVERWRITE"


def test_an_hour_in_a_string_column_is_the_text_of_its_key(project: Project) -> None:
    asset = an_asset(lambda keys: table([1] * len(keys), hour=list(map(str, keys))), HOURS, "hour")
    project.run(asset, days=("2026-03-01-00:00", "2026-03-01-02:00"))
    project.run(asset, days="2026-03-01-01:00")
    assert len(project.rows("lab.readings")) == 3


def hours_of_autumn(until: str) -> dg.HourlyPartitionsDefinition:
    """Each test needs other hours: Dagster remembers the keys of a window, and takes 1:00 for the second 1:00."""
    return dg.HourlyPartitionsDefinition("2026-11-01-00:00", end_date=until, timezone="America/New_York")


def test_one_of_two_hours_with_the_same_local_times_is_refused(project: Project) -> None:
    asset = an_asset(lambda keys: times("2026-11-01T01:10"), hours_of_autumn("2026-11-01-04:00"), "at")
    for key in ("2026-11-01-01:00", "2026-11-01-01:00-0500"):
        with pytest.raises(dg.Failure, match=r"clock of America/New_York occur twice.*single_run.*TIMESTAMP_LTZ"):
            project.run(asset, days=key)


def test_both_hours_with_the_same_local_times_are_replaced_and_read_together(project: Project) -> None:
    rows = ["2026-11-01T00:30", "2026-11-01T01:10", "2026-11-01T01:10", "2026-11-01T02:59"]
    asset = an_asset(lambda keys: times(*rows), hours_of_autumn("2026-11-01-03:00"), "at")
    found = counts(project.run(asset, days=("2026-11-01-00:00", "2026-11-01-02:00")))
    assert list(found.values()) == [1, 2, 0, 1]
    rows[:] = ["2026-11-01T01:20"]
    project.run(asset, days=("2026-11-01-01:00", "2026-11-01-01:00-0500"))
    seen: list[pa.Table] = []
    read = reader(seen, None)
    project.run([asset, read], selection=[read])
    assert sorted(value.isoformat()[11:16] for value in seen[0]["at"].to_pylist()) == ["00:30", "01:20", "02:59"]


def test_a_row_outside_of_two_hours_with_the_same_local_times_is_refused(project: Project) -> None:
    rows = ("2026-11-01T01:10", "2026-11-01T02:00")
    asset = an_asset(lambda keys: times(*rows), hours_of_autumn("2026-11-01-05:00"), "at")
    with pytest.raises(dg.Failure, match=r"rows of at = 2026-11-01 02:00"):
        project.run(asset, days=("2026-11-01-01:00", "2026-11-01-01:00-0500"))


def test_rows_of_a_primary_key_table_are_replaced_only_by_partition_columns(project: Project) -> None:
    metadata = {"paimon/primary_key": "n", "paimon/partition_by": [], "paimon/options": {"bucket": "1"}}
    asset = an_asset(lambda keys: times("2026-03-01T10:00"), DAYS, "at", **metadata)
    with pytest.raises(dg.Failure, match=r"replaces rows by at.*primary key.*paimon/partition_scope: input"):
        project.run(asset, days="2026-03-01")


def test_an_expression_without_a_column_is_refused(project: Project) -> None:
    asset = an_asset(lambda keys: times("2026-03-01T10:00"), DAYS, "date(at)", **{"paimon/partition_by": []})
    with pytest.raises(dg.Failure, match=r"column date\(at\) does not exist.*columns are n, at"):
        project.run(asset, days="2026-03-01")


# --- self-dependencies ----------------------------------------------------------------------------------------------


def a_running_total(annotation: Any, seen: list[Any]) -> dg.AssetsDefinition:
    def total(context: Any, before: Any) -> pa.Table:
        seen.append(before)
        rows = 0 if before is None else before.num_rows
        return table([rows], dt=[context.partition_key])

    total.__annotations__ = {"context": dg.AssetExecutionContext, "before": annotation, "return": pa.Table}
    mapping = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
    return dg.asset(
        key=["lab", "total"],
        partitions_def=DAYS,
        io_manager_key="paimon_io",
        metadata={"partition_expr": "dt"},
        ins={"before": dg.AssetIn(key=["lab", "total"], partition_mapping=mapping)},
    )(total)


def test_an_asset_that_depends_on_itself_begins_without_a_table(project: Project) -> None:
    seen: list[Any] = []
    asset = a_running_total(pa.Table, seen)
    for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
        assert project.run(asset, days=day).success
    assert [rows.num_rows for rows in seen] == [0, 1, 1]
    assert seen[1]["dt"].to_pylist() == ["2026-03-01"]


def test_the_first_partition_may_get_none_as_its_predecessor(project: Project) -> None:
    seen: list[Any] = []
    asset = a_running_total(pa.Table | None, seen)
    for day in ("2026-03-01", "2026-03-02", "2026-03-01"):
        project.run(asset, days=day)
    assert [rows if rows is None else rows.num_rows for rows in seen] == [None, 1, None]


# --- rows of each partition, and partitions that never had one ------------------------------------------------------

UPSERT = {
    "paimon/write_mode": "upsert",
    "paimon/primary_key": "n",
    "paimon/options": {"bucket": "1"},
    "paimon/partition_scope": "input",
}


def an_upsert(arrivals: dict[str, list[int]], **metadata: Any) -> Any:
    def make(keys: Any) -> pa.Table:
        pairs = [(n, key) for key in keys for n in arrivals.get(key, [])]
        kinds = ["-D" if n < 0 else "+I" for n, _ in pairs]
        days = pa.array([key for _, key in pairs], pa.string())
        return table([abs(n) for n, _ in pairs], came=days, _row_kind=pa.array(kinds, pa.string()))

    expression = {"paimon/row_partition": "came", **UPSERT, **metadata}
    return an_asset(make, DAYS, None, **expression)


def test_an_upsert_reports_the_rows_and_deletes_of_each_day(project: Project) -> None:
    asset = an_upsert({"2026-03-01": [1, 2, 3], "2026-03-02": [4, -1]})
    found = events(project.run(asset, days=("2026-03-01", "2026-03-02")))
    assert {key: metadata["dagster/partition_row_count"] for key, metadata in found.items()} == {
        "2026-03-01": 3,
        "2026-03-02": 2,
    }
    assert {key: metadata.get("paimon/partition_deletes") for key, metadata in found.items()} == {
        "2026-03-01": None,
        "2026-03-02": 1,
    }
    assert project.table("lab.readings").schema.field_names == ("n",)
    assert [row["n"] for row in project.rows("lab.readings")] == [2, 3, 4]


def test_a_row_that_comes_from_several_days_counts_for_each(project: Project) -> None:
    def make(_: Any) -> pa.Table:
        days = pa.array([["2026-03-01", "2026-03-02"], ["2026-03-02"], None], pa.list_(pa.string()))
        return table([1, 2, 3], came=days, _row_kind=["+I", "-D", "+I"])

    asset = an_asset(make, DAYS, None, **{"paimon/row_partition": "came", **UPSERT})
    found = events(project.run(asset, days=("2026-03-01", "2026-03-02")))
    assert {day: metadata["dagster/partition_row_count"] for day, metadata in found.items()} == {
        "2026-03-01": 1,
        "2026-03-02": 2,
    }
    assert [row["n"] for row in project.rows("lab.readings")] == [1, 3]


def test_days_that_never_had_rows_are_not_materialized(project: Project) -> None:
    arrivals = {"2026-03-01": [1], "2026-03-03": [3]}
    asset = an_upsert(arrivals)
    found = events(project.run(asset, days=("2026-03-01", "2026-03-04")))
    assert sorted(map(str, found)) == ["2026-03-01", "2026-03-03"]
    assert found["2026-03-01"]["paimon/unmaterialized"] == "2026-03-02; 2026-03-04"
    materialized = project.instance.get_materialized_partitions(dg.AssetKey(["lab", "readings"]))
    assert materialized == {"2026-03-01", "2026-03-03"}
    arrivals.clear()
    project.run(asset, days=("2026-03-01", "2026-03-05"))
    materialized = project.instance.get_materialized_partitions(dg.AssetKey(["lab", "readings"]))
    assert materialized == {"2026-03-01", "2026-03-03"}


def test_empty_days_are_materialized_if_the_asset_requests_it(project: Project) -> None:
    asset = an_upsert({}, **{"paimon/empty_partitions": "materialize"})
    assert counts(project.run(asset, days=("2026-03-01", "2026-03-02"))) == {"2026-03-01": 0, "2026-03-02": 0}


def test_an_upsert_into_a_partitioned_table_reports_the_rows_of_each_partition(project: Project) -> None:
    metadata = {**UPSERT, "paimon/partition_scope": "table", "paimon/primary_key": ["dt", "n"]}
    asset = an_asset(lambda keys: table(list(range(len(keys))), dt=list(map(str, keys))), DAYS, "dt", **metadata)
    assert counts(project.run(asset, days=("2026-03-01", "2026-03-02"))) == {"2026-03-01": 1, "2026-03-02": 1}
