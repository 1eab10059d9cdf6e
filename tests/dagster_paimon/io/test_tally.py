"""The rows of each partition of a run are counted, with few looks at the rows however many partitions there are."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon.io import tally
from dagster_paimon.io.partitions import dimensions, slices_of
from dagster_paimon.io.tally import PartitionRows, Tally
from table_format.errors import InvalidData
from table_format.types import DataField, DateType, IntType, TimestampType, VarCharType

START = datetime(2026, 1, 1)
HOURS = [START + timedelta(hours=hour) for hour in range(240)]
DAILY = dg.DailyPartitionsDefinition(START)
HOURLY = dg.HourlyPartitionsDefinition(START)


def tally_of(definition: Any, expression: Any, keys: list[Any], *fields: DataField, **more: Any) -> Tally:
    slices = slices_of(dimensions(definition, expression, where="test"), keys, fields, where="test")
    return Tally("shop.items", slices, fields, **{"refuse_others": True, **more})


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The conditions that were evaluated on rows."""
    seen: list[object] = []
    evaluated = tally.matches

    def matches(condition: Any, *arguments: Any) -> Any:
        seen.append(condition)
        return evaluated(condition, *arguments)

    monkeypatch.setattr(tally, "matches", matches)
    return seen


def test_days_are_counted_together(looks: list[object]) -> None:
    days = [date(2026, 1, 1) + timedelta(days=day) for day in range(300)]
    found = tally_of(DAILY, "day", [str(day) for day in days], DataField(0, "day", DateType()))
    for _ in range(2):
        found.count(pa.record_batch({"day": [*days, days[0]], "_row_kind": [*["+I"] * 300, "-D"]}))
    assert looks == []
    rows = found.result()
    assert rows[str(days[0])] == PartitionRows(4, 2)
    assert {rows[str(day)] for day in days[1:]} == {PartitionRows(2, 0)}


def test_only_the_time_windows_of_a_batch_are_looked_at(looks: list[object]) -> None:
    keys = [hour.strftime("%Y-%m-%d-%H:%M") for hour in HOURS]
    found = tally_of(HOURLY, "at", keys, DataField(0, "at", TimestampType(6)))
    for first in range(0, 240, 2):
        at = [HOURS[first], HOURS[first] + timedelta(minutes=59), HOURS[first + 1]]
        found.count(pa.record_batch({"at": pa.array(at, pa.timestamp("us"))}))
    assert len(looks) == 240
    rows = found.result()
    assert [rows[key].rows for key in keys] == [2, 1] * 120


@pytest.mark.parametrize("value", [None, date(2025, 12, 31)])
def test_a_row_outside_of_all_days_is_refused(value: date | None) -> None:
    found = tally_of(DAILY, "day", ["2026-01-01", "2026-01-02"], DataField(0, "day", DateType()))
    with pytest.raises(InvalidData, match=rf"rows of day = {value or 'null'}, which are not among .* \(2026-01-01 to"):
        found.count(pa.record_batch({"day": pa.array([date(2026, 1, 1), value], pa.date32())}))


@pytest.mark.parametrize("values", [[None, None], [START - timedelta(seconds=1)], [HOURS[2]]])
def test_a_row_outside_of_all_hours_is_refused(values: list[datetime | None]) -> None:
    found = tally_of(HOURLY, "at", ["2026-01-01-00:00", "2026-01-01-01:00"], DataField(0, "at", TimestampType(6)))
    with pytest.raises(InvalidData, match="the frame has rows of at = "):
        found.count(pa.record_batch({"at": pa.array(values, pa.timestamp("us"))}))


def test_partitions_of_two_dimensions_are_counted() -> None:
    both = dg.MultiPartitionsDefinition({"day": DAILY, "store": dg.StaticPartitionsDefinition(["1", "2"])})
    keys = [dg.MultiPartitionKey({"day": f"2026-01-0{day}", "store": store}) for day in (1, 2) for store in "12"]
    fields = (DataField(0, "d", DateType()), DataField(1, "s", IntType()))
    found = tally_of(both, {"day": "d", "store": "s"}, keys, *fields)
    days = pa.array([date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2)], pa.date32())
    found.count(pa.record_batch({"s": pa.array([1, 2, 2], pa.int32()), "d": days}))
    assert {key: rows.rows for key, rows in found.result().items()} == {
        "2026-01-01|1": 1,
        "2026-01-01|2": 0,
        "2026-01-02|1": 0,
        "2026-01-02|2": 2,
    }


def test_a_row_counts_for_each_partition_in_its_list() -> None:
    regions = dg.StaticPartitionsDefinition(["north", "south"])
    field = DataField(0, "of", VarCharType())
    found = tally_of(regions, "of", ["north", "south"], field, in_lists=True, refuse_others=False)
    found.count(pa.record_batch({"of": [["north", "south"], ["south", "west"], []]}), kind="-D")
    assert found.result() == {"north": PartitionRows(1, 1), "south": PartitionRows(2, 2)}
