"""Hash index files consist only of big-endian 32-bit numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from table_format.codecs.hash_index import decode_hashes, encode_hashes
from table_format.errors import Truncated


def test_the_bytes_are_those_of_java() -> None:
    assert encode_hashes(np.array([123456, 789012, -1], np.int32)).hex() == "0001e240000c0a14ffffffff"


@given(arrays.arrays(np.int32, st.integers(0, 40)))
def test_what_was_written_is_read(hashes: np.ndarray) -> None:
    assert decode_hashes(encode_hashes(hashes), count=len(hashes), path="f").tolist() == hashes.tolist()


@pytest.mark.parametrize("size", [0, 3, 4, 7, 9, 12])
def test_a_file_of_another_length_than_recorded_is_refused(size: int) -> None:
    with pytest.raises(Truncated, match=f"index-1: expected 8 bytes, found {size}"):
        decode_hashes(bytes(size), count=2, path="index-1")
