"""Which settings an index was built with: those that would give the same bytes."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format.errors import CorruptionError
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.payload import Payload
from table_format.model.arrow_types import arrow_type
from table_format.model.types import IntType, VarCharType
from tests.kernels.file_index.columns import MORE_TYPES, SMALL, built, column_values, is_held
from tests.support.typed_values import SCALARS

MORE_SETTINGS = {
    "bitmap": ({"index-block-size": 32}, {"version": 1}, {"index-block-size": 200}),
    "range-bitmap": ({"chunk-size": 8}, {"chunk-size": 9}, {"chunk-size": 300}),
    "bloom-filter": ({"items": 40, "fpp": 0.01}, {"items": 20, "fpp": 0.000001}, {"items": 400}),
    "bsi": (),
}


@pytest.mark.parametrize("index", INDEX_TYPES)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_an_index_has_just_the_settings_that_would_give_the_same_bytes(index: str, data: st.DataObject) -> None:
    index_type = INDEX_TYPES[index]
    data_type = data.draw((SCALARS | st.sampled_from(MORE_TYPES)).filter(index_type.declaration.supports))
    values = [value for value in data.draw(column_values(data_type)) if is_held(index, data_type, value)]
    column = pa.array(values, arrow_type(data_type), from_pandas=False)
    explicit = {"version": 2} if index == "bitmap" else {}
    all_settings = [explicit | dict(each) for each in (*SMALL[index], *MORE_SETTINGS[index])]
    for stated in all_settings:
        payload = built(index, data_type, column, stated)
        for others in all_settings:
            is_same = payload == built(index, data_type, column, others)
            assert index_type.has_settings(Payload.of(payload, path="f"), data_type, others) == is_same


def test_a_bitmap_of_version_1_stays_if_no_version_is_stated() -> None:
    column = pa.array([1, 2], pa.int32())
    for version, others, is_right in (
        (1, {}, True),
        (2, {}, True),
        (1, {"version": 2}, False),
        (2, {"version": 1}, False),
    ):
        payload = Payload.of(built("bitmap", IntType(), column, {"version": version}), path="f")
        assert INDEX_TYPES["bitmap"].has_settings(payload, IntType(), others) == is_right


@pytest.mark.parametrize("index", ["bitmap", "range-bitmap"])
def test_an_index_of_an_unknown_version_has_any_settings(index: str) -> None:
    payload = bytearray(built(index, IntType(), pa.array([1, 2], pa.int32())))
    payload[0 if index == "bitmap" else 4] = 9
    assert INDEX_TYPES[index].has_settings(Payload.of(bytes(payload), path="f"), IntType(), {})


@pytest.mark.parametrize("index", ["bitmap", "range-bitmap", "bloom-filter"])
def test_a_damaged_index_gives_no_other_error_than_that_it_is_damaged(index: str) -> None:
    whole = built(index, VarCharType(9), pa.array(["a", "b"]), SMALL[index][-1])
    for length in range(len(whole)):
        for data in (whole[:length], whole[:length] + b"\xff" + whole[length + 1 :]):
            with suppress(CorruptionError):
                INDEX_TYPES[index].has_settings(Payload.of(data, path="f"), VarCharType(9), {})
