"""Texts of one shape are integers of the same order; others are not taken."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_format.kernels.file_index.text_words import TextShape, TextWords, shape_of

PLACES = st.tuples(st.binary(max_size=21), st.integers(1, 8), st.binary(max_size=21))


def binary(values: list[bytes] | list[bytes | None]) -> pa.Array:
    return pa.array(values, pa.binary())


@given(PLACES, st.data())
def test_texts_that_differ_in_up_to_eight_bytes_have_integers_of_their_order(
    place: tuple[bytes, int, bytes], data: st.DataObject
) -> None:
    begin, width, end = place
    parts = data.draw(st.lists(st.binary(min_size=width, max_size=width), min_size=1, max_size=20))
    texts = [begin + part + end for part in parts]
    shape = shape_of(binary(texts))
    assert shape is not None
    words = shape.words_of(binary([b"x", *texts]).slice(1))
    assert words is not None
    assert shape.texts_of(words).to_pylist() == texts
    assert [texts[at] for at in words.argsort(kind="stable").tolist()] == sorted(texts)


@given(PLACES, st.integers(0, 49), st.integers(1, 255))
def test_a_text_that_differs_elsewhere_or_has_another_length_has_no_integer(
    place: tuple[bytes, int, bytes], at: int, change: int
) -> None:
    begin, width, end = place
    template = begin + bytes(width) + end
    shape = TextShape(template, len(begin), width)
    at %= len(template)
    changed = bytearray(template)
    changed[at] ^= change
    is_within = len(begin) <= at < len(begin) + width
    assert (shape.words_of(binary([template, bytes(changed)])) is not None) == is_within
    # As many bytes altogether, but not in each text.
    assert shape.words_of(binary([template + b"x", template[1:]])) is None


def test_texts_of_several_lengths_long_ones_and_empty_ones_have_no_shape() -> None:
    for texts in ([b"a", b"bc"], [b"", b""], [b"x" * 65], [b"a" + bytes(8) + b"b", b"c" + bytes(8) + b"d"]):
        assert shape_of(binary(texts)) is None


def test_nulls_and_pieces_that_have_only_nulls_are_taken() -> None:
    pieces: list[list[bytes | None]] = [[None, None], [b"k-1", None, b"k-3"], [], [b"k-2"]]
    gathered = TextWords()
    assert all(gathered.add(binary(piece)) for piece in pieces)
    words, present = gathered.gathered()
    assert gathered.texts_of(words).to_pylist() == [b"k-1", b"k-3", b"k-2"]
    assert present.tolist() == [False, False, True, False, True, True]
    assert [piece.to_pylist() for piece in gathered.pieces()] == pieces


def test_a_piece_of_another_shape_is_refused_and_earlier_pieces_can_be_restored() -> None:
    gathered, texts = TextWords(), [b"the number 1", b"the number 2"]
    assert gathered.add(binary(texts))
    assert not gathered.add(binary([b"the number 1", b"one number 1"]))
    assert [piece.to_pylist() for piece in gathered.pieces()] == [texts]
