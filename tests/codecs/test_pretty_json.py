"""The JSON form of Jackson's pretty printer, and the refusal of invalid JSON files."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json, load_json_value
from table_format.errors import BadEncoding, LimitExceeded
from table_format.limits import MAX_JSON_BYTES, MAX_JSON_DEPTH
from tests.codecs.facts import some_examples

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(texts, trees, max_size=3))
@some_examples
def test_what_is_written_is_the_same_json(tree):
    data = dump_pretty(tree)
    assert json.loads(data) == tree
    assert load_json(data, path="f") == tree


def test_objects_are_indented_and_arrays_stay_on_their_line():
    tree = {"a": [1, "x", None, True], "b": [{"c": {}}, {"d": []}], "e": {"f": -1}, "g": [[{"h": 1}], []]}
    assert dump_pretty(tree).decode() == (
        "{\n"
        '  "a" : [ 1, "x", null, true ],\n'
        '  "b" : [ {\n'
        '    "c" : { }\n'
        "  }, {\n"
        '    "d" : [ ]\n'
        "  } ],\n"
        '  "e" : {\n'
        '    "f" : -1\n'
        "  },\n"
        '  "g" : [ [ {\n'
        '    "h" : 1\n'
        "  } ], [ ] ]\n"
        "}"
    )


def test_only_control_characters_quotes_and_backslashes_are_escaped():
    assert dump_pretty('\b\f\n\r\t"\\\0\x1f\x7f/\u2028é表\U0001f600').decode() == (
        '"\\b\\f\\n\\r\\t\\"\\\\\\u0000\\u001F\x7f/\u2028é表\U0001f600"'
    )


def test_decimals_keep_their_digits():
    assert dump_pretty(Decimal("432000.000000000")) == b"432000.000000000"
    assert load_json_value(b"432000.000000000", path="f") == Decimal("432000.000000000")


def test_a_value_without_a_json_form_is_refused():
    with pytest.raises(TypeError):
        dump_pretty({"a": 1.5})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"\xff{}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b"{} {}",
        b'{"a" 1}',
        b"{" * 3,
        b"\xef\xbb\xbf{}",
    ],
)
def test_bytes_that_are_not_a_json_object_are_refused(data):
    with pytest.raises(BadEncoding, match=r"^f: expected"):
        load_json(data, path="f")


def test_a_number_of_millions_of_digits_is_refused():
    with pytest.raises(BadEncoding):
        load_json(b'{"a": ' + b"9" * 1_000_000 + b"}", path="f")


@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH, 1000, 100_000])
def test_deep_nesting_is_refused(depth):
    with pytest.raises(LimitExceeded, match="deeper"):
        load_json(b'{"a":' + b"[" * depth + b"]" * depth + b"}", path="f")


def test_nesting_up_to_the_bound_is_read():
    inner = MAX_JSON_DEPTH - 1
    assert load_json(b'{"a":' + b"[" * inner + b"]" * inner + b"}", path="f").keys() == {"a"}
    assert len(load_json_value(b"[" + b"[]," * 500 + b"[]]", path="f")) == 501


def test_an_enormous_file_is_refused_before_it_is_parsed():
    with pytest.raises(LimitExceeded, match="the maximum is"):
        load_json(bytes(MAX_JSON_BYTES + 1), path="f")


@pytest.mark.parametrize("text", [b'{"a":1,' + b'"b":1,' * 600_000 + b'"c":1}', b"[" + b"1," * 1_000_001 + b"1]"])
def test_members_and_items_are_counted_before_they_are_decoded(text):
    with pytest.raises(LimitExceeded, match="commas and colons"):
        load_json_value(text, path="f")


def test_a_member_one_bit_away_from_a_known_one_is_found_among_many():
    known = frozenset({"indexManifest", "id"})
    many = {f"member{number}": 1 for number in range(50_000)}
    JsonMembers("f", many).refuse_damaged_names(known)
    for damaged in ("indexManiFest", "indexLanifest", "md", "\u4069d"):
        with pytest.raises(BadEncoding, match="to be stored under its name"):
            JsonMembers("f", many | {damaged: 1}).refuse_damaged_names(known)
