"""The grammar of CREATE, ALTER and DROP MATERIALIZED TABLE."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.sql.materialized_tables import (
    CreateMaterializedTable,
    DropMaterializedTable,
    Freshness,
    RefreshMaterializedTable,
    SetFreshness,
    SetQuery,
    SuspendMaterializedTable,
    read_materialized_table_statement,
)
from table_format.sql.nondeterministic import nondeterministic_function
from table_format.sql.reader import Reader, SqlName

M, DM = SqlName(("m",)), SqlName(("d", "m"))
ALTER = "ALTER MATERIALIZED TABLE m"
CREATE = "CREATE MATERIALIZED TABLE m"


def read(text: str) -> Any:
    return read_materialized_table_statement(Reader.of(text))


def test_a_table_is_created_with_clauses_in_any_order() -> None:
    found = read(
        "CREATE MATERIALIZED TABLE IF NOT EXISTS d.m (CONSTRAINT c PRIMARY KEY (a, b) NOT ENFORCED) "
        "REFRESH_MODE = FULL FRESHNESS = INTERVAL '7' DAY TBLPROPERTIES ('x' = 'y') PARTITIONED BY (b) COMMENT 'it' "
        "AS WITH c AS (SELECT 1 AS a) SELECT * FROM c"
    )
    assert (found.name, found.primary_keys, found.partition_keys) == (DM, ("a", "b"), ("b",))
    assert (found.options, found.comment, found.if_not_exists, found.is_full) == ({"x": "y"}, "it", True, True)
    assert found.freshness == Freshness(7, "day")
    assert found.query.strip() == "WITH c AS (SELECT 1 AS a) SELECT * FROM c"
    plain = read(f"{CREATE} FRESHNESS = INTERVAL 30 SECONDS AS TABLE t")
    assert plain == CreateMaterializedTable(M, plain.query, Freshness(30, "second"))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (f"{ALTER} REFRESH", RefreshMaterializedTable(M)),
        (f"{ALTER} REFRESH PARTITION (ds = '1', h = 2)", RefreshMaterializedTable(M, {"ds": "1", "h": 2})),
        (f"{ALTER} SUSPEND", SuspendMaterializedTable(M, suspends=True)),
        (f"{ALTER} RESUME", SuspendMaterializedTable(M, suspends=False)),
        (f"{ALTER} SET FRESHNESS = INTERVAL '1' HOUR", SetFreshness(M, Freshness(1, "hour"))),
        ("ALTER MATERIALIZED TABLE m AS SELECT 1", SetQuery(M, " " * 30 + "SELECT 1")),
        ("DROP MATERIALIZED TABLE IF EXISTS d.m", DropMaterializedTable(DM, if_exists=True)),
        ("DROP MATERIALIZED TABLE m", DropMaterializedTable(M)),
    ],
)
def test_a_statement_is_read(text: str, statement: object) -> None:
    assert read(text) == statement


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (f"{CREATE} FRESHNESS = INTERVAL '-1' DAY AS SELECT 1", InvalidSql, "a whole number above 0"),
        (f"{CREATE} FRESHNESS = INTERVAL '1.5' DAY AS SELECT 1", InvalidSql, "a whole number above 0"),
        (f"{CREATE} FRESHNESS = INTERVAL '1' DAY AS", InvalidSql, "expected a query"),
        (f"{CREATE} FRESHNESS = INTERVAL '1' DAY SELECT 1", InvalidSql, "REFRESH_MODE or AS"),
        (f"{CREATE} FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = OFTEN AS SELECT 1", InvalidSql, "expected FULL"),
        (f"{CREATE} USING paimon FRESHNESS = INTERVAL '1' DAY AS SELECT 1", UnsupportedFeature, "USING"),
        (f"{CREATE} DISTRIBUTED INTO 3 BUCKETS", UnsupportedFeature, "'bucket'"),
        ("CREATE OR REPLACE MATERIALIZED TABLE m", UnsupportedFeature, "use ALTER MATERIALIZED TABLE ... AS"),
        (f"{ALTER} SET REFRESH_MODE = FULL", UnsupportedFeature, "every refresh is full"),
        (f"{ALTER} SET ('a' = 'b')", UnsupportedFeature, "SET is not supported; use ALTER TABLE"),
        (f"{ALTER} RENAME TO n", UnsupportedFeature, "RENAME is not supported; use ALTER TABLE"),
        (f"{ALTER} REFRESH SOON", InvalidSql, "expected the end"),
        (f"{ALTER} STOP", InvalidSql, "expected REFRESH, SUSPEND, RESUME, SET FRESHNESS or AS"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_alternative(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(text)


def test_functions_that_differ_from_run_to_run_are_found_and_columns_and_texts_are_not() -> None:
    found = [
        nondeterministic_function(text)
        for text in (
            "SELECT a FROM t WHERE day > CURRENT_DATE - 1",
            "SELECT Rand() FROM t",
            "SELECT now, t.user, 'uuid()' FROM t -- now()",
            "SELECT unix_millis(at), date_add(day, 1) FROM t",
        )
    ]
    assert found == ["CURRENT_DATE", "Rand", None, None]
