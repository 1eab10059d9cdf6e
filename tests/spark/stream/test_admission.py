"""How much one micro-batch takes."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.options.table_options import TableOptions
from table_format.spark.stream.admission import Limits, Size


def limits(**options: str) -> Limits:
    return Limits.of(TableOptions.parse({f"read.stream.{key}": value for key, value in options.items()}).spark_stream)


@pytest.mark.parametrize("limit", ["maxFilesPerTrigger", "maxBytesPerTrigger", "maxRowsPerTrigger"])
def test_a_split_that_would_exceed_a_limit_is_left_for_the_next_micro_batch(limit: str) -> None:
    taken, bound = Size(5, 5, 5), limits(**{limit: "8"})
    assert bound.admits(taken, Size(3, 3, 3))
    assert not bound.admits(taken, Size(4, 4, 4))


def test_the_first_split_is_always_taken() -> None:
    assert limits(maxRowsPerTrigger="1").admits(Size(), Size(9, 900, 900))


def test_without_limits_everything_is_taken() -> None:
    assert Limits().admits(Size(1 << 40, 1 << 40, 1 << 40), Size(1, 1, 1))
    assert not Limits().waits(0, since_last_ms=0)


@pytest.mark.parametrize("given", ["minRowsPerTrigger", "maxTriggerDelayMs"])
def test_a_minimum_of_rows_and_a_delay_require_each_other(given: str) -> None:
    with pytest.raises(InvalidOption, match="set both or none"):
        limits(**{given: "5"})
