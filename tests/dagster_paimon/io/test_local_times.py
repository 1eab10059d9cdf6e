"""Time windows on the clock of a zone: which times they have, and whether they have a doubled time only once."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_paimon.io.local_times import on_the_clock, only_once
from dagster_paimon.io.partitions import dimensions, slices_of
from table_format.errors import InvalidInputError
from table_format.types import DataField, TimestampType

STEP = timedelta(minutes=5)


def windows(cron: str, zone: str, day: str) -> list[dg.TimeWindow]:
    """The windows that start within two days of the day on which the clock is set back or forward."""
    partitions = dg.TimeWindowPartitionsDefinition(
        start=f"{day}-00:00", fmt="%Y-%m-%d-%H:%M", cron_schedule=cron, timezone=zone
    )
    keys = partitions.get_partition_keys()[: 220 if cron.startswith("*") else 60]
    return [partitions.time_window_for_partition_key(key) for key in keys]


def clock_of(window: dg.TimeWindow) -> set[object]:
    """The times on the clock at each step of a window."""
    at, times = window.start.astimezone(UTC), set()
    while at < window.end.astimezone(UTC):
        times.add(at.astimezone(window.start.tzinfo).replace(tzinfo=None))
        at += STEP
    return times


CASES = {
    "hourly": windows("0 * * * *", "America/New_York", "2026-10-31"),
    "half_hours": windows("*/30 * * * *", "America/New_York", "2026-10-31"),
    "daily_within_the_hour": windows("30 1 * * *", "America/New_York", "2026-10-28"),
    "half_an_hour_back": windows("0 * * * *", "Australia/Lord_Howe", "2026-04-04"),
    "forward": windows("0 * * * *", "Europe/Berlin", "2026-03-28"),
    "without_a_change": windows("0 * * * *", "UTC", "2026-10-31"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_window_has_the_times_that_the_clock_shows_in_it(case: str) -> None:
    for window in CASES[case]:
        first, after = on_the_clock(window)
        shown = clock_of(window)
        assert first == min(shown), window
        assert after == max(shown) + STEP, window


@settings(max_examples=60, deadline=None)
@given(data=st.data(), case=st.sampled_from(sorted(CASES)))
def test_windows_are_refused_exactly_if_the_clock_shows_their_times_in_other_windows_too(
    data: st.DataObject, case: str
) -> None:
    listed = CASES[case]
    start = data.draw(st.integers(0, len(listed) - 1))
    chosen = listed[start : start + data.draw(st.integers(1, 30))]
    left_out = data.draw(st.integers(0, len(chosen)))
    chosen = [window for at, window in enumerate(chosen) if at != left_out] or chosen
    times = set().union(*map(clock_of, chosen))
    others = set().union(*(clock_of(window) for window in listed if window not in chosen))
    assert (only_once(chosen) is not None) == bool(times & others)


@pytest.mark.parametrize(
    ("now", "keys", "is_refused"),
    [
        ("2026-11-01T06:10Z", ["2026-11-01-01:00"], False),  # the second 1:00 has just begun
        ("2026-11-01T07:10Z", ["2026-11-01-01:00"], True),  # it has ended
        ("2026-11-01T07:10Z", ["2026-11-01-01:00-0500"], True),
        ("2026-11-01T07:10Z", ["2026-11-01-01:00", "2026-11-01-01:00-0500"], False),
    ],
)
def test_the_first_of_two_hours_is_refused_alone_only_once_the_second_is_a_partition(
    now: str, keys: list[str], is_refused: bool
) -> None:
    hours = dg.HourlyPartitionsDefinition("2026-10-30-00:00", timezone="America/New_York")
    fields = [DataField(0, "at", TimestampType(6))]
    with dg.partition_loading_context(effective_dt=datetime.fromisoformat(now)):
        expected = pytest.raises(InvalidInputError, match="occur twice") if is_refused else nullcontext()
        with expected:
            slices_of(dimensions(hours, "at", where="t"), keys, fields, where="t")
