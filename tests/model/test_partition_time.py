"""Times in partition values, as the reference reads them."""

from __future__ import annotations

from datetime import datetime

import pytest

from table_format.model.partition_time import PartitionTimes, check_formatter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02", datetime(2026, 1, 2)),
        ("2026-1-2", datetime(2026, 1, 2)),
        ("2026-01-02 03:04:05", datetime(2026, 1, 2, 3, 4, 5)),
        ("2026-01-02 03:04:05.25", datetime(2026, 1, 2, 3, 4, 5, 250_000)),
        # Without a formatter the reference is lenient: what exceeds a field is carried over.
        ("2026-02-30", datetime(2026, 3, 2)),
        ("2026-13-01 24:00:00", datetime(2027, 1, 2)),
        ("2026-01-02 10", None),
        ("20260102", None),
        ("10000-01-01", None),
        ("", None),
    ],
)
def test_a_value_is_a_day_or_a_second(text: str, expected: datetime | None) -> None:
    assert PartitionTimes().time_of({"dt": text, "other": "x"}) == expected


@pytest.mark.parametrize(
    ("formatter", "text", "expected"),
    [
        ("yyyyMMdd", "20260102", datetime(2026, 1, 2)),
        ("yyyyMMddHH", "2026010223", datetime(2026, 1, 2, 23)),
        ("dd/MM/yy HH:mm:ss.SSS", "02/01/26 03:04:05.006", datetime(2026, 1, 2, 3, 4, 5, 6_000)),
        ("yyyy-MM-dd'T'HH", "2026-01-02T03", datetime(2026, 1, 2, 3)),
        ("yyyyMMdd", "20260230", datetime(2026, 2, 28)),
        ("yyyyMMdd", "20261301", None),
        ("yyyyMMddHH", "2026010224", datetime(2026, 1, 3)),  # the end of the day
        ("yyyyMMddHHmm", "202601022401", None),
        ("yyyyMMddHH", "2026010225", None),
        ("yyyyMM", "202601", None),
        ("yyyyMMdd", "2026-01-02", None),
    ],
)
def test_a_formatter_reads_other_forms(formatter: str, text: str, expected: datetime | None) -> None:
    assert PartitionTimes(formatter=formatter).time_of({"dt": text}) == expected


def test_the_longest_matching_name_in_a_pattern_is_used() -> None:
    times = PartitionTimes(pattern="$dt1-$dt-03")
    assert times.time_of({"dt": "02", "dt1": "2026"}) == datetime(2026, 2, 3)


@pytest.mark.parametrize("formatter", ["EEE", "yyyy-MM-dd'T", "yyyyMMyyyy", "yyyyMMdd G"])
def test_a_formatter_that_is_not_supported_is_refused(formatter: str) -> None:
    with pytest.raises(ValueError, match=r"not supported|not closed"):
        check_formatter(formatter)
