"""From which rows of a table the rows of a query come, by a column; what is not certain has no origin."""

from __future__ import annotations

import pytest

from table_format.sql.row_origins import origins_in

COLUMNS = {"s.t": ["id", "ts", "x", "ds", "Big"], "s.c": ["id", "name", "ds"]}

ORIGINS = {
    "SELECT ds AS p, sum(x) AS n FROM `s`.`t` GROUP BY ds": "`ds`",
    "SELECT p, sum(n) AS n FROM (SELECT ds AS p, x AS n FROM s.t) AS tmp GROUP BY p": "`ds`",
    "SELECT p FROM (SELECT substr(ds, 1, 7) AS p, x + 1 AS n FROM s.t) WHERE n > 0": "SUBSTRING(`ds`, 1, 7)",
    "SELECT substr(ds, 1, 4) AS p, sum(x) FROM s.t GROUP BY ds": "SUBSTRING(`ds`, 1, 4)",
    "SELECT ds AS p, sum(x) FROM s.t GROUP BY ALL": "`ds`",
    "SELECT sum(x), ds AS p FROM s.t GROUP BY 2": "`ds`",
    "SELECT CAST(ts AS DATE) AS p, count(*) FROM s.t GROUP BY CAST(ts AS DATE)": "CAST(`ts` AS DATE)",
    "SELECT TRY_CAST(ds AS INT) AS p FROM s.t": "TRY_CAST(`ds` AS INT)",
    "SELECT date_format(ts, 'yyyy-MM') AS p FROM s.t": "DATE_FORMAT(`ts`, 'yyyy-MM')",
    "SELECT a + 1 AS p FROM (SELECT x * 2 AS a FROM s.t)": "(`x` * 2) + 1",
    "SELECT big AS p FROM s.t": "`Big`",
    "SELECT t.ds AS p, c.name FROM s.t LEFT JOIN s.c ON t.id = c.id": "`ds`",
    "SELECT t.ds AS p, c.name FROM s.c JOIN s.t ON t.id = c.id": "`ds`",
    "SELECT ds AS p FROM s.t WHERE id IN (SELECT id FROM s.c)": "`ds`",
    "SELECT ds AS p, (SELECT max(name) FROM s.c) AS m FROM s.t": "`ds`",
    "SELECT ds AS p, explode(array(1, 2)) AS e FROM s.t": "`ds`",
    "WITH a AS (SELECT ds FROM s.t), b AS (SELECT ds AS p FROM a) SELECT p FROM b": "`ds`",
    "WITH t AS (SELECT ds FROM s.t) SELECT ds AS p FROM t": "`ds`",
    "SELECT ds AS p, row_number() OVER (PARTITION BY ds, id ORDER BY x) FROM s.t": "`ds`",
    "SELECT DISTINCT ds AS p FROM s.t ORDER BY p": "`ds`",
}
WITHOUT = [
    "SELECT max(ds) AS p FROM s.t",
    "SELECT max(ds) AS p, id FROM s.t GROUP BY id",
    "SELECT 1 AS p FROM s.t",
    "SELECT my_function(ds) AS p FROM s.t",
    "SELECT concat_ws('-', ds, x) AS p FROM s.t",
    "SELECT ds AS p, sum(x) FROM s.t GROUP BY ds WITH ROLLUP",
    "SELECT ds AS p, sum(x) FROM s.t GROUP BY CUBE(ds)",
    "SELECT ds AS p, sum(x) FROM s.t GROUP BY GROUPING SETS ((ds), ())",
    "SELECT ds AS p, x, sum(x) OVER (ORDER BY ds) FROM s.t",
    "SELECT ds AS p, rank() OVER w FROM s.t WINDOW w AS (PARTITION BY id ORDER BY x)",
    "SELECT ds AS p FROM s.t QUALIFY row_number() OVER (PARTITION BY id ORDER BY x) = 1",
    "SELECT ds AS p FROM s.t LIMIT 3",
    "SELECT p FROM (SELECT ds AS p, x FROM s.t ORDER BY x LIMIT 5)",
    "SELECT ds AS p FROM s.t TABLESAMPLE (10 PERCENT)",
    "SELECT ds AS p, col FROM s.t LATERAL VIEW explode(array(1, 2)) e AS col",
    "SELECT ds AS p FROM s.t UNION ALL SELECT ds FROM s.c",
    "SELECT t.ds AS p FROM s.c LEFT JOIN s.t ON t.id = c.id",
    "SELECT t.ds AS p FROM s.t FULL JOIN s.c ON t.id = c.id",
    "SELECT t.ds AS p FROM s.t RIGHT JOIN s.c ON t.id = c.id",
    "SELECT c.ds AS p, sum(t.x) FROM s.t JOIN s.c ON t.id = c.id GROUP BY c.ds",
    "SELECT coalesce(t.ds, c.ds) AS p FROM s.t JOIN s.c ON t.id = c.id",
    "SELECT a.ds AS p FROM s.t a JOIN s.t b ON a.id = b.id",
    "SELECT ds AS p FROM s.t WHERE x = (SELECT max(x) FROM s.t)",
    "WITH a AS (SELECT ds, x FROM s.t) SELECT a.ds AS p FROM a WHERE x > (SELECT max(x) FROM a)",
    "SELECT ds AS p FROM s.t |> LIMIT 3",
    "SELECT nothing AS p FROM s.t",
    "VALUES (1)",
]


@pytest.mark.parametrize("query", ORIGINS)
def test_a_column_has_an_expression_over_the_columns_of_the_table(query: str) -> None:
    found = origins_in(query, "s.t", COLUMNS, ["p"])
    assert {name: origin.expression for name, origin in found.items()} == {"p": ORIGINS[query]}


@pytest.mark.parametrize("query", WITHOUT)
def test_a_column_without_a_certain_origin_is_left_out(query: str) -> None:
    assert origins_in(query, "s.t", COLUMNS, ["p"]) == {}


def test_columns_and_names_that_differ_only_in_case_have_no_origin() -> None:
    query = "SELECT ds AS p FROM s.t"
    assert origins_in(query, "s.t", {"s.t": ["ds", "DS"]}, ["p"]) == {}
    assert origins_in(query, "s.t", {"s.t": ["ds"], "s.T": ["ds"]}, ["p"]) == {}


def test_an_origin_names_the_columns_that_it_needs() -> None:
    (found,) = origins_in("SELECT concat(ds, Big) AS p FROM s.t", "s.t", COLUMNS, ["p"]).values()
    assert (found.expression, found.columns) == ("CONCAT(`ds`, `Big`)", {"ds", "Big"})
