"""The order of many texts is that of their bytes."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_format.kernels.file_index.text_order import distinct_text_order, text_order

TEXTS = st.lists(
    st.builds(
        lambda *parts: b"".join(parts),
        st.sampled_from([b"", b"same", b"same-prefix-of-all-"]),
        st.binary(max_size=10),
        st.sampled_from([b"", b"\0", b"\0\0", b"\xff", b"longer than a word"]),
    ),
    max_size=60,
)


@given(TEXTS)
def test_texts_are_ordered_as_bytes_are(texts: list[bytes]) -> None:
    assert [texts[at] for at in text_order(pa.array(texts, pa.binary())).tolist()] == sorted(texts)


def test_slices_and_equal_prefixes_are_ordered_too() -> None:
    texts = [b"prefix-" + bytes([255 - n % 7]) * (n % 19) + str(n).encode() for n in range(3000)]
    column = pa.array([b"\0", *texts], pa.binary()).slice(1)
    assert [texts[at] for at in text_order(column).tolist()] == sorted(texts)


def test_texts_that_occur_often_are_ordered_with_equal_ones_in_their_order() -> None:
    texts = [b"the same beginning of all " + str(n * 7919 % 601).encode() for n in range(3000)]
    order, is_new = distinct_text_order(pa.array(texts, pa.binary()))
    assert order.tolist() == sorted(range(len(texts)), key=lambda row: (texts[row], row))
    assert [texts[row] for row in order[is_new].tolist()] == sorted(set(texts))
