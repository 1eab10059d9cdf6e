"""The Dagster partition of a value: the one whose materialization selects rows with exactly this value."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon.io.partitions import extent_of
from dagster_paimon.tables.column_keys import keys_of_column
from dagster_paimon.tables.measure import partition_key, value_of_text
from dagster_paimon.tables.partition_keys import keys_of_values
from table_format.engine.support import values_of
from table_format.types import (
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    VarCharType,
    arrow_type,
)

AT = datetime(2026, 3, 2, 5, 0, 0, 250_000)
HOURS = dg.HourlyPartitionsDefinition(start_date="2026-03-01-00:00", end_date="2026-03-04-00:00")
IN_TOKYO = dg.HourlyPartitionsDefinition("2026-03-01-00:00", end_date="2026-03-04-00:00", timezone="Asia/Tokyo")
WEEKS = dg.WeeklyPartitionsDefinition(start_date="2026-03-01", end_date="2026-03-22")
NUMBERED = dg.DailyPartitionsDefinition(start_date="20260301", end_date="20260310", fmt="%Y%m%d")
DYNAMIC = dg.DynamicPartitionsDefinition(name="of_a_test")


def static(*keys: str) -> Any:
    return dg.StaticPartitionsDefinition(keys)


def key_of(partitions: Any, data_type: DataType, value: object) -> tuple[str | None, bool]:
    """The key of a value, and whether the rows of its partition include the value."""
    field = DataField(0, "c", data_type)
    [stored] = values_of(pa.array([value], arrow_type(data_type)), data_type)
    with dg.DagsterInstance.ephemeral() as instance:
        key = keys_of_column(partitions, field, [stored], instance).get(stored)
    return key, key is not None and extent_of(partitions, key, field).holds(stored)


@pytest.mark.parametrize(
    ("partitions", "data_type", "value", "key"),
    [
        *[(HOURS, TimestampType(precision), AT, "2026-03-02-05:00") for precision in (3, 6, 9)],
        (IN_TOKYO, TimestampType(6), AT, "2026-03-02-05:00"),
        (IN_TOKYO, LocalZonedTimestampType(6), AT.replace(tzinfo=UTC), "2026-03-02-14:00"),
        (WEEKS, TimestampType(3), AT, "2026-03-01"),
        (WEEKS, DateType(), date(2026, 3, 7), "2026-03-01"),
        (NUMBERED, IntType(), 20260302, "20260302"),
        (static("a", "2026-03-02T05:00:00.25"), TimestampType(3), AT, "2026-03-02T05:00:00.25"),
        (static("true", "false"), BooleanType(), False, "false"),
        (static("x", "07"), IntType(), 7, "07"),
        (DYNAMIC, TimestampType(3), AT, "2026-03-02 05:00:00.250000"),
        (DYNAMIC, LocalZonedTimestampType(6), AT.replace(tzinfo=UTC), "2026-03-02 05:00:00.250000+00:00"),
        (DYNAMIC, TimeType(3), time(5), "05:00:00"),
        (DYNAMIC, DecimalType(5, 2), Decimal("1.50"), "1.50"),
    ],
)
def test_a_value_has_the_key_whose_materialization_selects_it(
    partitions: Any, data_type: DataType, value: object, key: str
) -> None:
    assert key_of(partitions, data_type, value) == (key, True)


@pytest.mark.parametrize(
    ("partitions", "data_type", "value"),
    [
        (HOURS, VarCharType(), "2026-03-02T05:30"),
        (WEEKS, IntType(), 20260302),
        (HOURS, TimestampType(6), datetime(2027, 1, 1)),
        (static("mon"), VarCharType(), "tue"),
        (DYNAMIC, VarCharType(), ""),
    ],
)
def test_a_value_that_no_partition_selects_has_no_key(partitions: Any, data_type: DataType, value: object) -> None:
    assert key_of(partitions, data_type, value) == (None, False)


@pytest.mark.parametrize("value", [0, 1, 1_000_000, -1_000_001, 1_772_427_600_250_000_000])
def test_the_key_of_a_time_with_nanoseconds_is_converted_to_it_again(value: int) -> None:
    field = DataField(0, "c", TimestampType(9))
    assert value_of_text(field, partition_key(field, value)) == value


def test_a_time_beyond_the_years_of_python_is_shown_as_its_number() -> None:
    assert partition_key(DataField(0, "c", TimestampType(3)), 10**21) == str(10**21)


def test_a_changed_time_is_the_dynamic_partition_that_another_sensor_has_added() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("of_a_test", ["2026-03-02 05:00:00.250000", "2026-03-02T06:00:00"])
        found = keys_of_values(DYNAMIC, [AT, datetime(2026, 3, 2, 6), datetime(2026, 3, 2, 7)], instance)
    assert found.keys == ("2026-03-02 05:00:00.250000", "2026-03-02T06:00:00")
    assert found.to_come == {"2026-03-02 07:00:00"}


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        (datetime(2026, 11, 1, 0, 59), ("2026-11-01-00:00",)),
        (datetime(2026, 11, 1, 1, 10), ("2026-11-01-01:00", "2026-11-01-01:00-0500")),
        (datetime(2026, 11, 1, 1, 10, tzinfo=UTC), ("2026-10-31-21:00",)),
        (datetime(2026, 11, 1, 2), ("2026-11-01-02:00",)),
    ],
)
def test_a_time_that_the_clock_shows_twice_belongs_to_both_partitions(value: datetime, keys: tuple[str, ...]) -> None:
    hours = dg.HourlyPartitionsDefinition("2026-10-31-00:00", end_date="2026-11-02-00:00", timezone="America/New_York")
    with dg.DagsterInstance.ephemeral() as instance:
        # In any order: Dagster remembers the keys of a window, and may take 1:00 for the second 1:00.
        assert sorted(keys_of_values(hours, [value], instance).keys) == sorted(keys)


def test_a_time_that_the_clock_leaps_over_belongs_to_one_partition() -> None:
    hours = dg.HourlyPartitionsDefinition("2026-03-07-00:00", end_date="2026-03-10-00:00", timezone="America/New_York")
    with dg.DagsterInstance.ephemeral() as instance:
        assert len(keys_of_values(hours, [datetime(2026, 3, 8, 2, 30)], instance).keys) == 1
