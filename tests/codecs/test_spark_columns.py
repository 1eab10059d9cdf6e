"""The columns in a text of Spark SQL."""

from __future__ import annotations

import pytest

from table_format.codecs.spark_columns import column_of_text, equalities_of_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s.id", ("s", "id")),
        ("((Id))", ("", "Id")),
        ("`a.b`.`c d`", ("a.b", "c d")),
        ("s.*", None),
        ("x.s.id", None),
        ("s.id + 0", None),
        ("'s.id'", None),
        ("CAST(s.id AS INT)", None),
        ("SELECT", None),
    ],
)
def test_a_text_is_a_column_only_if_it_is_just_a_name(text: str, expected: object) -> None:
    assert column_of_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t.a = s.b", [(("t", "a"), ("s", "b"))]),
        ("(s.b = (a)) AND t.c = s.c AND t.d > 1", [(("s", "b"), ("", "a")), (("t", "c"), ("s", "c"))]),
        ("t.a = s.b OR t.c = s.c", []),
        ("NOT (t.a = s.b)", []),
        ("NOT (t.a = s.b AND t.c = s.c)", []),
        ("t.a <=> s.b", []),
        ("t.a = s.b + 1", []),
        ("t.a IN (SELECT x.a FROM x WHERE x.b = s.b)", []),
        ("CASE WHEN t.a = s.b THEN true END", []),
        ("t.a = (", []),
    ],
)
def test_only_columns_that_must_be_equal_are_a_pair(text: str, expected: object) -> None:
    assert equalities_of_text(text) == expected
