"""Values at which the real Paimon fails are refused when they are set; tables that have them go on."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, IntType
from table_format.options.check import check_alterable, check_creatable, check_dynamic
from table_format.options.table_options import TableOptions

BLOCK = "file-index.bitmap.v.index-block-size"
BEYOND = [
    ("page-size", "3000 b", "a power of two from 64 b to 1 gb"),
    ("page-size", "32 b", "a power of two from 64 b to 1 gb"),
    ("page-size", "2 gb", "a power of two from 64 b to 1 gb"),
    ("lookup.cache.bloom.filter.fpp", "0.61", "at most 0.6"),
    ("local-sort.max-num-file-handles", "1", "at least 2"),
    (BLOCK, "19 b", "at least 20 b"),
]
WITHIN = [
    ("page-size", "64 b"),
    ("lookup.cache.bloom.filter.fpp", "0.6"),
    ("local-sort.max-num-file-handles", "2"),
    (BLOCK, "20 b"),
]


def table(**options: str) -> TableSchema:
    fields = (DataField(0, "k", IntType(nullable=False)), DataField(1, "v", IntType()))
    given = {"bucket": "1", "file-index.bitmap.columns": "v", **options}
    return TableSchema(0, fields, 1, primary_keys=("k",), options=given)


@pytest.mark.parametrize(("key", "value", "allowed"), BEYOND)
def test_a_value_beyond_a_limit_is_refused(key: str, value: str, allowed: str) -> None:
    message = f"'{key}' is '{value}'; Apache Paimon fails .*; set {allowed}"
    with pytest.raises(InvalidOption, match=message):
        check_creatable(table(**{key: value}))
    with pytest.raises(InvalidOption, match=message):
        check_alterable(table(), table(**{key: value}))


@pytest.mark.parametrize(("key", "value"), WITHIN)
def test_a_limit_itself_is_taken(key: str, value: str) -> None:
    check_creatable(table(**{key: value}))


@pytest.mark.parametrize(("key", "value", "allowed"), BEYOND)
def test_a_table_of_others_beyond_a_limit_goes_on(key: str, value: str, allowed: str) -> None:
    made = table(**{key: value})
    assert TableOptions.parse(made.options).raw[key] == value
    check_alterable(made, table(**{key: value, "snapshot.num-retained.max": "20"}))
    check_dynamic(made, {"scan.snapshot-id": "1"})
