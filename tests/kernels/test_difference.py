"""The difference between two sorted states, compared with a plain comparison of dicts."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.kernels.difference import difference, equal_values

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.float64()), ("_VALUE_KIND", pa.int8())])
STATES = st.dictionaries(
    st.text("ab", max_size=3), st.tuples(st.none() | st.sampled_from([0.0, -0.0, 1.5]), st.sampled_from([0, 2, 3]))
)


def batches(state: dict[str, tuple[float | None, int]], size: int) -> Iterator[pa.RecordBatch]:
    rows = sorted((key.encode(), key, *values) for key, values in state.items())
    columns = list(zip(*rows, strict=True))[1:] if rows else [(), (), ()]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    yield from pa.Table.from_arrays(arrays, schema=SCHEMA).to_batches(max_chunksize=size)


@given(STATES, STATES, st.integers(1, 4), st.integers(1, 4))
def test_it_is_what_a_comparison_key_by_key_finds(
    before: dict[str, tuple[float | None, int]], after: dict[str, tuple[float | None, int]], left: int, right: int
) -> None:
    found = [r for b in difference(batches(before, left), batches(after, right), ["k"]) for r in b.to_pylist()]
    expected = {}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if new is None:
            assert old is not None
            if old[1] != 3:
                expected[key] = (old[0], 3)
        elif old is None or repr(old[0]) != repr(new[0]) or (old[1] == 3) != (new[1] == 3):
            expected[key] = new
    assert [(r["k"], repr(r["v"]), r["_VALUE_KIND"]) for r in found] == [
        (key, repr(expected[key][0]), expected[key][1]) for key in sorted(expected, key=str.encode)
    ]


@pytest.mark.parametrize(
    ("data_type", "left", "right", "same"),
    [
        (pa.float32(), [float("nan"), 0.0, None], [float("nan"), -0.0, None], [True, False, True]),
        (pa.string(), ["a", None, "b"], ["a", "b", None], [True, False, False]),
        (pa.list_(pa.int32()), [[1, None], None, []], [[1, None], [], []], [True, False, True]),
        (pa.decimal128(5, 2), [None], [None], [True]),
    ],
)
def test_values_are_the_same_as_stored(
    data_type: pa.DataType, left: list[object], right: list[object], same: list[bool]
) -> None:
    assert equal_values(pa.array(left, data_type), pa.array(right, data_type)).tolist() == same
