"""Every value that was indexed is found, in every type of index over every type of column."""

from __future__ import annotations

import pytest

from table_format.model.types import DataType
from tests.kernels.file_index.look_ups import PAIRS, RATES, false_positives, look_up_all, most_of

HASHED = [data_type for index, data_type in PAIRS if index == "bloom-filter"]


@pytest.mark.parametrize(("index", "data_type"), PAIRS, ids=str)
def test_every_value_is_found_and_an_in_selects_just_its_rows(index: str, data_type: DataType) -> None:
    found = look_up_all(index, data_type, 2500, seed=1)
    assert not found.missed
    assert found.values >= 2500


def test_every_index_and_every_type_is_looked_up() -> None:
    assert {index: sum(index == other for other, _ in PAIRS) for index, _ in PAIRS} == {
        "bloom-filter": 17,
        "bitmap": 17,
        "bsi": 15,
        "range-bitmap": 18,
    }


@pytest.mark.parametrize("data_type", HASHED, ids=str)
def test_filters_admit_no_more_absent_values_than_their_rate_allows(data_type: DataType) -> None:
    for fpp in RATES[:4]:
        assert false_positives(data_type, fpp, 20_000, seed=2) <= most_of(data_type, fpp) * fpp
