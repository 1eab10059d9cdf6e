"""Skipping values of Thrift's compact protocol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.formats.thrift_compact import (
    BINARY,
    I64,
    LIST,
    STRUCT,
    Field,
    Items,
    Reader,
    Struct,
    Value,
    encode_struct,
    end_of_value,
    visit,
)

NUMBERS = st.integers(-(2**62), 2**62)


def a_struct(fields: list[tuple[int, tuple[int, Value]]]) -> Struct:
    return Struct([Field(number, kind, value) for number, (kind, value) in fields])


def structs(values: st.SearchStrategy[tuple[int, Value]]) -> st.SearchStrategy[Struct]:
    """Structs whose fields have these values, with ids near and far from each other."""
    fields = st.lists(st.tuples(st.integers(1, 300), values), max_size=5, unique_by=lambda field: field[0])
    return fields.map(lambda found: a_struct(sorted(found, key=lambda field: field[0])))


PLAIN = st.one_of(
    st.tuples(st.just(I64), NUMBERS),
    st.tuples(st.just(BINARY), st.binary(max_size=200)),
    st.booleans().map(lambda value: (1 if value else 2, value)),
    st.lists(NUMBERS, max_size=20).map(lambda items: (LIST, Items(LIST, I64, list(items)))),
)


def nested(values: st.SearchStrategy[tuple[int, Value]]) -> st.SearchStrategy[tuple[int, Value]]:
    inner = structs(values)
    lists = st.lists(inner, max_size=3).map(lambda items: (LIST, Items(LIST, STRUCT, list(items))))
    return st.one_of(inner.map(lambda struct: (STRUCT, struct)), lists)


@given(structs(st.recursive(PLAIN, nested, max_leaves=8)), st.data())
def test_a_struct_is_skipped_to_its_end_but_not_beyond_the_bytes(struct: Struct, data: st.DataObject) -> None:
    encoded = encode_struct(struct)
    assert end_of_value(encoded + b"more", 0, STRUCT) == len(encoded)
    cut = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(IndexError):
        end_of_value(encoded[:cut], 0, STRUCT)


@given(structs(st.recursive(PLAIN, nested, max_leaves=8)), st.data())
def test_a_visit_reads_the_wanted_fields_and_ends_where_the_struct_does(struct: Struct, data: st.DataObject) -> None:
    encoded = encode_struct(struct)
    wanted = data.draw(st.sets(st.sampled_from([f.id for f in struct.fields]))) if struct.fields else set()
    seen: list[tuple[int, int]] = []

    def reader_of(number: int) -> Reader:
        def read(found: bytes, at: int, kind: int) -> int:
            seen.append((number, kind))
            return end_of_value(found, at, kind)

        return read

    assert visit(encoded + b"more", 0, {number: reader_of(number) for number in wanted}) == len(encoded)
    assert seen == [(f.id, f.kind) for f in struct.fields if f.id in wanted]


@pytest.mark.parametrize("encoded", [b"\x1c" * 100, b"\x1d\x00", b"\x18" + b"\xff" * 12])
def test_bytes_that_are_not_a_struct_are_refused(encoded: bytes) -> None:
    with pytest.raises(ValueError, match="thrift"):
        end_of_value(encoded, 0, STRUCT)
