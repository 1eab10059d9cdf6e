"""The first rows of a table that the text of a query needs."""

from __future__ import annotations

import pytest

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.sql.conditions import Condition
from table_format.sql.first_rows import first_rows_of

A = OrderedColumn("a")
TAKEN: dict[str, RowLimit] = {
    "SELECT * FROM t LIMIT 3": RowLimit(3),
    "SELECT x.* FROM t x ORDER BY x.a LIMIT 3 OFFSET 4": RowLimit(7, (A,)),
    "SELECT b FROM t ORDER BY a, `c d` DESC NULLS FIRST LIMIT :n": RowLimit(
        5, (A, OrderedColumn("c d", descending=True, nulls_first=True))
    ),
    "SELECT a AS b, b AS c FROM t ORDER BY b NULLS LAST LIMIT 3": RowLimit(3, (OrderedColumn("a", nulls_first=False),)),
    "SELECT b AS a FROM t ORDER BY t.a LIMIT 3": RowLimit(3, (A,)),
    "SELECT A, a FROM t ORDER BY a LIMIT 3": RowLimit(3, (A,)),
    "SELECT *, a AS b FROM s.t VERSION AS OF 3 ORDER BY b DESC LIMIT 3": RowLimit(
        3, (OrderedColumn("a", descending=True, nulls_first=False),)
    ),
    "SELECT /*+ OPTIONS('scan.mode' = 'latest') */ a FROM t LIMIT 0": RowLimit(0),
}


@pytest.mark.parametrize("text", TAKEN)
def test_a_limit_over_columns_of_one_table_is_taken(text: str) -> None:
    found = first_rows_of(text, {"n": 5})
    assert found is not None
    assert (found.limit, found.conditions) == (TAKEN[text], ())
    assert text[found.start :].startswith(("t", "s.t"))


def test_all_conditions_are_taken_along() -> None:
    found = first_rows_of("SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND (b IS NOT NULL) LIMIT 3")
    assert found is not None
    assert found.conditions == (
        Condition("a", ">=", (1,)),
        Condition("a", "<=", (2,)),
        Condition("b", "IS NOT NULL"),
    )


NOT_TAKEN = (
    "SELECT * FROM t",
    "SELECT * FROM t ORDER BY a",
    "SELECT * FROM t LIMIT ALL",
    "FROM t |> LIMIT 3 |> WHERE a > 1",
    "SELECT * FROM t LIMIT 1 + 1",
    "SELECT * FROM t LIMIT :text",
    "SELECT * FROM t LIMIT 3 OFFSET 1 + 1",
    "SELECT * FROM t ORDER BY 1 LIMIT 3",
    "SELECT * FROM t ORDER BY ALL LIMIT 3",
    "SELECT * FROM t ORDER BY -a LIMIT 3",
    "SELECT * FROM t ORDER BY a.b LIMIT 3",
    "SELECT * FROM t SORT BY a LIMIT 3",
    "SELECT -a AS a FROM t ORDER BY a LIMIT 3",
    "SELECT a AS x, b AS x FROM t ORDER BY x LIMIT 3",
    "SELECT a, b AS a FROM t ORDER BY a LIMIT 3",
    "SELECT b AS A FROM t ORDER BY a LIMIT 3",
    "SELECT count(*) FROM t LIMIT 3",
    "SELECT explode(a) FROM t LIMIT 3",
    "SELECT rank() OVER (ORDER BY a) FROM t LIMIT 3",
    "SELECT * EXCEPT (a) FROM t LIMIT 3",
    "SELECT DISTINCT a FROM t LIMIT 3",
    "SELECT a FROM t GROUP BY a LIMIT 3",
    "SELECT a FROM t HAVING a > 1 LIMIT 3",
    "SELECT a FROM t WHERE a = 1 OR b = 2 LIMIT 3",
    "SELECT a FROM t WHERE a = 1 AND f(b) = 2 LIMIT 3",
    "SELECT a FROM t WHERE a BETWEEN 1 AND f(b) LIMIT 3",
    "SELECT a FROM t WHERE EXISTS (SELECT 1) LIMIT 3",
    "SELECT a FROM t JOIN u USING (k) LIMIT 3",
    "SELECT a FROM t, u LIMIT 3",
    "SELECT a FROM t LATERAL VIEW explode(b) e AS a LIMIT 3",
    "SELECT a FROM t TABLESAMPLE (5 ROWS) LIMIT 3",
    "SELECT a FROM t AS x(a, b) LIMIT 3",
    "SELECT a FROM (SELECT * FROM t) LIMIT 3",
    "WITH t AS (SELECT 1 AS a) SELECT a FROM t LIMIT 3",
    "SELECT a FROM t UNION ALL SELECT a FROM u LIMIT 3",
    "(SELECT a FROM t LIMIT 3)",
    "VALUES (1) LIMIT 3",
)


@pytest.mark.parametrize("text", NOT_TAKEN)
def test_a_query_that_may_need_other_rows_has_no_limit(text: str) -> None:
    assert first_rows_of(text, {"text": "3"}) is None
