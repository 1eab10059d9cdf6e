"""Which merge engine options a table may be created with."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import ArrayType, DataField, IntType, VarCharType
from table_format.options.check import check_creatable

FIELDS = (
    DataField(0, "k", IntType(nullable=False)),
    *(DataField(i, name, IntType()) for i, name in enumerate("abcdg", 1)),
    DataField(6, "h", VarCharType()),
    DataField(7, "l", ArrayType(IntType())),
)
PARTIAL = {"merge-engine": "partial-update"}
GROUP = {"fields.g.sequence-group": "a,b"}
SUMS = {"merge-engine": "aggregation"}


def check(options: dict[str, str]) -> None:
    check_creatable(TableSchema(0, FIELDS, 7, primary_keys=("k",), options={"bucket": "1", **options}))


@pytest.mark.parametrize(
    "options",
    [
        {},
        PARTIAL,
        {**PARTIAL, **GROUP},
        {**PARTIAL, **GROUP, "fields.c,h.sequence-group": "d"},
        {**PARTIAL, "sequence.field": "g"},
        {**PARTIAL, **GROUP, "fields.a.aggregate-function": "sum", "fields.a.ignore-retract": "true"},
        {**PARTIAL, "fields.a.aggregate-function": "last_non_null_value"},
        {**PARTIAL, "fields.default-aggregate-function": "last_non_null_value"},
        {**PARTIAL, "partial-update.remove-record-on-delete": "true"},
        {**PARTIAL, **GROUP, "partial-update.remove-record-on-sequence-group": "g"},
        {**PARTIAL, **GROUP, "ignore-delete": "true"},
        {
            **SUMS,
            "fields.default-aggregate-function": "sum",
            "fields.h.aggregate-function": "listagg",
            "fields.h.list-agg-delimiter": " ",
        },
        {**SUMS, "aggregation.remove-record-on-delete": "true"},
        {"merge-engine": "first-row", "first-row.ignore-delete": "true"},
        {"merge-engine": "FIRST_ROW"},
    ],
)
def test_options_that_fit_are_accepted(options: dict[str, str]) -> None:
    check(options)


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({"merge-engine": "newest"}, "merge-engine", "deduplicate, partial-update, aggregation, first-row"),
        ({"merge-engine": "first-row", "sequence.field": "g"}, "sequence.field", "first-row"),
        ({"sequence.field": "g,g"}, "sequence.field", "twice"),
        ({"sequence.field": "x"}, "sequence.field", "does not exist"),
        (
            {**SUMS, "sequence.field": "g", "fields.g.aggregate-function": "sum"},
            "fields.g.aggregate-function",
            "sequence.field",
        ),
        ({**SUMS, "fields.x.aggregate-function": "sum"}, "fields.x.aggregate-function", "does not exist"),
        ({**SUMS, "fields.a.x.aggregate-function": "sum"}, "fields.a.x.aggregate-function", "does not exist"),
        ({**SUMS, "fields.x.ignore-retract": "true"}, "fields.x.ignore-retract", "does not exist"),
        ({**SUMS, "fields.a.ignore-retract": "maybe"}, "fields.a.ignore-retract", "not a legal value"),
        ({**SUMS, "fields.l.count-limit": "many"}, "fields.l.count-limit", "not a legal value"),
        ({**PARTIAL, "fields.x.sequence-group": "a"}, "fields.x.sequence-group", "does not exist"),
        ({**PARTIAL, "fields.g,x.sequence-group": "a"}, "fields.g,x.sequence-group", "'x' does not exist"),
        ({**PARTIAL, "fields.g.sequence-group": "a,x"}, "fields.g.sequence-group", "'x' does not exist"),
        ({**PARTIAL, "fields.g.sequence-group": "k"}, "fields.g.sequence-group", "primary key"),
        ({**PARTIAL, "fields.k.sequence-group": "a"}, "fields.k.sequence-group", "primary key"),
        ({**PARTIAL, **GROUP, "fields.h.sequence-group": "b"}, "fields.h.sequence-group", "another sequence group"),
        ({**PARTIAL, **GROUP, "fields.h.sequence-group": "g"}, "fields.h.sequence-group", "another sequence group"),
        ({**PARTIAL, "fields.l.sequence-group": "a"}, "fields.l.sequence-group", "no order"),
        (
            {**PARTIAL, "fields.a.aggregate-function": "sum"},
            "fields.a.aggregate-function",
            "sequence-group",
        ),
        (
            {**PARTIAL, **GROUP, "fields.default-aggregate-function": "sum"},
            "fields.default-aggregate-function",
            "'c' needs a sequence group",
        ),
        (
            {**PARTIAL, "partial-update.remove-record-on-delete": "true", "ignore-delete": "true"},
            "partial-update.remove-record-on-delete",
            "ignore-delete",
        ),
        (
            {**PARTIAL, "partial-update.remove-record-on-delete": "true", "partial-update.ignore-delete": "true"},
            "partial-update.remove-record-on-delete",
            "ignore-delete",
        ),
        (
            {**PARTIAL, **GROUP, "partial-update.remove-record-on-delete": "true"},
            "partial-update.remove-record-on-delete",
            "fields.g.sequence-group",
        ),
        (
            {**PARTIAL, **GROUP, "partial-update.remove-record-on-sequence-group": "g", "ignore-delete": "true"},
            "partial-update.remove-record-on-sequence-group",
            "ignore-delete",
        ),
        (
            {**PARTIAL, **GROUP, "partial-update.remove-record-on-sequence-group": "a"},
            "partial-update.remove-record-on-sequence-group",
            "orders no sequence group",
        ),
        (
            {**SUMS, "aggregation.remove-record-on-delete": "true", "fields.a.ignore-retract": "true"},
            "aggregation.remove-record-on-delete",
            "fields.a.ignore-retract",
        ),
        ({"merge-engine": "first-row", "deletion-vectors.enabled": "true"}, "deletion-vectors.enabled", "first-row"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(options: dict[str, str], key: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as refusal:
        check(options)
    assert key in str(refusal.value)
    assert isinstance(refusal.value, InvalidOption)
    assert refusal.value.key == key


def check_moving(options: dict[str, str]) -> None:
    """The same columns in a table whose key lacks the partition column ``h``."""
    check_creatable(TableSchema(0, FIELDS, 7, partition_keys=("h",), primary_keys=("k",), options=options))


@pytest.mark.parametrize("group", ["fields.g.sequence-group", "fields.h.sequence-group"])
def test_a_partition_column_outside_of_the_key_is_in_no_group(group: str) -> None:
    with pytest.raises(InvalidOption, match="'h' is a partition column, which no merge changes") as refusal:
        check_moving({**PARTIAL, group: "a,h" if group.startswith("fields.g") else "a"})
    assert refusal.value.key == group


def test_a_default_function_does_not_concern_partition_columns() -> None:
    check_moving({**SUMS, "fields.default-aggregate-function": "sum", "fields.l.aggregate-function": "collect"})
    check_moving({**PARTIAL, "fields.g.sequence-group": "a,b,c,d,l", "fields.default-aggregate-function": "last_value"})
