"""Translation of Flink syntax to Spark syntax where it has no other meaning in Spark."""

from __future__ import annotations

import pytest

from table_format.errors import UnsupportedFeature
from table_format.sql.respelling import respellings
from table_format.sql.splices import edited

RESPELLED = {
    "SELECT ARRAY[ROW(a, b)] FROM t": "SELECT array(struct(a, b)) FROM t",
    "SELECT ARRAY[1, f(2)[0]]": "SELECT array(1, f(2)[0])",
    "SELECT CAST(x AS ARRAY<ROW<a INT, b ROW<c INT>>>)": "SELECT CAST(x AS ARRAY<STRUCT<a INT, b STRUCT<c INT>>>)",
    "SELECT * FROM t, UNNEST(a) AS u(x, y)": "SELECT * FROM t, LATERAL inline(a) AS u(x, y)",
    "SELECT * FROM t CROSS JOIN UNNEST(a) u(x)": "SELECT * FROM t CROSS JOIN LATERAL explode(a) u(x)",
    "SELECT * FROM t, LATERAL UNNEST(a)": "SELECT * FROM t, LATERAL inline(a)",
}


@pytest.mark.parametrize("text", RESPELLED)
def test_flink_syntax_is_translated(text: str) -> None:
    assert edited(text, respellings(text)) == RESPELLED[text]


@pytest.mark.parametrize("text", ["SELECT array[0] FROM t", "SELECT a FROM t WHERE row < 3 AND x > 1", "SELECT 'ROW('"])
def test_text_that_is_valid_in_spark_stays(text: str) -> None:
    assert respellings(text) == ()


def test_unnest_with_ordinality_is_refused() -> None:
    with pytest.raises(
        UnsupportedFeature, match=r"UNNEST \.\.\. WITH ORDINALITY is not supported; use LATERAL posexplode"
    ):
        respellings("SELECT * FROM t, UNNEST(a) WITH ORDINALITY")
