"""Conditions of a query that every row it needs from a table meets."""

from __future__ import annotations

from datetime import date

import pytest

from table_format.sql.conditions import Condition, conditions_of

TAKEN: dict[str, tuple[Condition, ...]] = {
    "SELECT * FROM t WHERE a = 1 AND (b < 'x' AND t.c >= -3)": (
        Condition("a", "=", (1,)),
        Condition("b", "<", ("x",)),
        Condition("c", ">=", (-3,)),
    ),
    "SELECT * FROM t WHERE 1 < a AND b <> 2L AND c IS NOT NULL": (
        Condition("a", ">", (1,)),
        Condition("b", "<>", (2,)),
        Condition("c", "IS NOT NULL"),
    ),
    "SELECT * FROM t WHERE a IN (1, 2) AND b BETWEEN 3 AND :p AND c = DATE '2026-01-02'": (
        Condition("a", "IN", (1, 2)),
        Condition("b", ">=", (3,)),
        Condition("b", "<=", (7,)),
        Condition("c", "=", (date(2026, 1, 2),)),
    ),
    "SELECT * FROM t x JOIN u ON x.k = u.k WHERE x.a = 1 AND u.b = 2 AND c = 3": (Condition("a", "=", (1,)),),
    "SELECT * FROM t, u WHERE t.a = 1": (Condition("a", "=", (1,)),),
    "SELECT count(*) FROM t WHERE a = 1 GROUP BY b HAVING c = 2": (Condition("a", "=", (1,)),),
    "SELECT * FROM t WHERE a = 1 AND (b = 2 OR c = 3) AND f(d) = 4": (Condition("a", "=", (1,)),),
}


@pytest.mark.parametrize("text", TAKEN)
def test_comparisons_with_literals_are_found(text: str) -> None:
    assert conditions_of(text, {"p": 7})[text.index("FROM ") + 5] == TAKEN[text]


def test_each_part_of_a_query_has_its_own_conditions() -> None:
    query = (
        "WITH q AS (SELECT * FROM t WHERE a = 1) SELECT * FROM q JOIN t b ON q.a = b.a WHERE b.c = 2 "
        "UNION SELECT * FROM t"
    )
    first, second = query.index("t WHERE a"), query.index("t b ON")
    found = conditions_of(query)
    assert (found[first], found[second]) == ((Condition("a", "=", (1,)),), (Condition("c", "=", (2,)),))
    assert query.rindex("t") not in found


UNCERTAIN = (
    "SELECT * FROM t LEFT JOIN u USING (k) WHERE t.a = 1",
    "SELECT * FROM u RIGHT JOIN t USING (k) WHERE t.a = 1",
    "SELECT * FROM u LEFT ANTI JOIN t USING (k) WHERE u.a = 1",
    "SELECT * FROM t TABLESAMPLE (10 PERCENT) WHERE a = 1",
    "SELECT * FROM t AS x(p, q) WHERE p = 1",
    "SELECT * FROM t LATERAL VIEW explode(b) e AS a WHERE a = 1",
    "SELECT * FROM t WHERE a = 1 OR b = 2",
    "SELECT * FROM t WHERE NOT a = 1",
    "SELECT * FROM t WHERE a.b = 1",
    "SELECT * FROM t WHERE a = b",
    "SELECT * FROM t WHERE a = :unknown",
    "SELECT * FROM t WHERE a IN (SELECT 1)",
    "SELECT * FROM t WHERE a = 1.5",
    "SELECT * FROM t",
)


@pytest.mark.parametrize("text", UNCERTAIN)
def test_conditions_that_may_not_hold_for_every_row_are_not_used(text: str) -> None:
    assert conditions_of(text) == {}


@pytest.mark.parametrize(
    "operators",
    ["AGGREGATE count(*) AS k GROUP BY v", "SELECT v AS k", "ORDER BY v LIMIT 3", "PIVOT (max(k) FOR v IN (1))"],
)
def test_conditions_after_other_pipe_operators_are_not_those_of_the_table(operators: str) -> None:
    assert conditions_of(f"FROM t |> {operators} |> WHERE k > 1") == {}
