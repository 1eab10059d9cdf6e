"""The container of file indexes: the bytes of Java, and errors for damage."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs import file_index
from table_format.codecs.file_index import check_places, decode_head, encode_file_index, head_length
from table_format.errors import BadEncoding, CorruptionError, LimitExceeded, Truncated

TYPES = ("bloom-filter", "bitmap", "bsi")
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
INDEXES = st.dictionaries(
    NAMES,
    st.dictionaries(st.sampled_from(TYPES), st.none() | st.binary(min_size=1, max_size=20), min_size=1),
    max_size=20,
)


def decoded(data: bytes) -> dict[str, dict[str, bytes | None]]:
    length = head_length(data, path="f")
    assert length is not None
    places = decode_head(data[:length], path="f")
    return {
        column: {t: None if p.is_empty else data[p.start : p.start + p.length] for t, p in of_column.items()}
        for column, of_column in places.items()
    }


def test_two_columns_with_two_types_are_the_bytes_of_java() -> None:
    # Of ``{c1, c2}`` x ``{bitmap, bloom-filter}``: the columns and types in the order of Java's hash maps.
    data = encode_file_index(
        {"c2": {"bloom-filter": b"\4", "bitmap": b"\3"}, "c1": {"bloom-filter": b"\2\2", "bitmap": b"\1"}}
    )
    assert data.hex() == (
        "00054e4ed01a35ae" "00000001" "00000074" "00000002"
        "00026331" "00000002" "000c626c6f6f6d2d66696c746572" "00000074" "00000002"
        "00066269746d6170" "00000076" "00000001"
        "00026332" "00000002" "000c626c6f6f6d2d66696c746572" "00000077" "00000001"
        "00066269746d6170" "00000078" "00000001"
        "00000000" "0202010403"
    )  # fmt: skip


@given(INDEXES)
def test_what_is_encoded_is_decoded(indexes: dict[str, dict[str, bytes | None]]) -> None:
    assert decoded(encode_file_index(indexes)) == indexes


@given(INDEXES.filter(bool), st.data())
def test_a_damaged_container_is_refused_or_still_valid(
    indexes: dict[str, dict[str, bytes | None]], data: st.DataObject
) -> None:
    stored = bytearray(encode_file_index(indexes))
    position = data.draw(st.integers(0, len(stored) - 1))
    stored[position] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(CorruptionError):
        length = head_length(bytes(stored), path="f")
        if length is not None:
            decode_head(bytes(stored[:length]), path="f")


@given(INDEXES.filter(bool), st.data())
def test_heads_of_one_layout_are_decoded_as_if_each_were_the_first(
    indexes: dict[str, dict[str, bytes | None]], data: st.DataObject
) -> None:
    def outcome(head: bytes) -> object:
        try:
            return decode_head(head, path="f")
        except BadEncoding as error:
            return str(error)

    first = encode_file_index(indexes)
    others = {
        column: {t: None if payload is None else payload * data.draw(st.integers(1, 3)) for t, payload in types.items()}
        for column, types in indexes.items()
    }
    second = bytearray(encode_file_index(others))
    length = head_length(bytes(second), path="f")
    assert length is not None
    for _ in range(data.draw(st.integers(0, 2))):
        second[data.draw(st.integers(0, length - 1))] ^= 1 << data.draw(st.integers(0, 7))
    file_index._layouts.clear()
    expected = outcome(bytes(second[:length]))
    file_index._layouts.clear()
    decode_head(first[:length], path="f")
    assert file_index._layouts
    assert outcome(bytes(second[:length])) == expected


def test_a_container_of_another_version_is_ignored() -> None:
    data = encode_file_index({"a": {"bsi": b"x"}})
    assert head_length(data[:11] + b"\2" + data[12:], path="f") is None


def test_an_invalid_head_is_refused() -> None:
    data = encode_file_index({"a": {"bsi": b"x"}})
    with pytest.raises(BadEncoding, match="begins with"):
        head_length(b"x" * 16, path="f")
    with pytest.raises(CorruptionError, match="expected 16 bytes, found 9"):
        head_length(data[:9], path="f")
    with pytest.raises(LimitExceeded):
        head_length(data[:12] + b"\x7f\xff\xff\xff", path="f")
    for end in range(17, len(data) - 5):
        with pytest.raises(BadEncoding, match="cannot be decoded"):
            decode_head(data[:end], path="f")


def opened(container: bytes) -> object:
    length = head_length(container, path="f")
    assert length is not None
    places = decode_head(container[:length], path="f")
    check_places(places, head_length=length, size=len(container), path="f")
    return places


TWO = encode_file_index({"a": {"bsi": b"12345"}, "b": {"bitmap": b"123", "bsi": None}})


def test_indexes_follow_each_other_from_the_head_to_the_end() -> None:
    opened(TWO)
    opened(encode_file_index({}))
    opened(encode_file_index({"a": {"bsi": None}}))
    with pytest.raises(Truncated, match="f"):
        opened(TWO[:-1])
    with pytest.raises(BadEncoding, match="its indexes end at"):
        opened(TWO + b"1")


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("at", [0, 4], ids=["start", "length"])
def test_a_wrong_place_is_refused(at: int, by: int) -> None:
    stated = TWO.index(b"bsi") + 3 + at
    changed = int.from_bytes(TWO[stated : stated + 4], "big") + by
    with pytest.raises(CorruptionError):
        opened(TWO[:stated] + changed.to_bytes(4, "big", signed=True) + TWO[stated + 4 :])


def test_an_index_with_bytes_cannot_be_declared_empty() -> None:
    stated = TWO.index(b"bsi") + 3
    with pytest.raises(BadEncoding, match="an index has an invalid place: 5 bytes at byte -1"):
        opened(TWO[:stated] + b"\xff" * 4 + TWO[stated + 4 :])


def test_a_repeated_column_is_refused() -> None:
    assert TWO.count(b"\0\1b") == 1
    with pytest.raises(BadEncoding, match="'a' occurs twice"):
        opened(TWO.replace(b"\0\1b", b"\0\1a"))


def test_a_head_may_end_with_reserved_bytes() -> None:
    length = head_length(TWO, path="f")
    assert length is not None
    head = TWO[: length - 4]
    assert decode_head(head + b"\0\0\0\2xx", path="f") == decode_head(TWO[:length], path="f")
    with pytest.raises(BadEncoding, match="its entries end at"):
        decode_head(head + b"\0\0\0\0xx", path="f")
