"""``Table.delete``, ``update`` and ``merge`` with a session."""

from __future__ import annotations

import pytest

from table_format import Delete, Insert, Update
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.spark import SparkStatements
from table_format.spark.tasks import code_shipping
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_a_table_runs_statements_with_a_spark_session(lake: TestLake, keys: tuple[str, ...]) -> None:
    table = lake.create(primary_keys=keys)
    lake.append([(n, f"v{n}") for n in range(6)])
    by_spark = SparkStatements(lake.spark)
    # Functions that this library lacks.
    assert table.delete("pmod(id, 3) = 2", runner=by_spark).deleted == 2
    assert table.update({"v": "reverse(v)"}, "id IN (SELECT explode(array(0L, 1L)))", runner=by_spark).updated == 2
    source = lake.frame([(0, "gone"), (3, "new"), (9, "new")], "id long, v string")
    merged = table.merge(
        source,
        "t.id = s.id",
        when_matched=[Delete("s.v = 'gone'"), Update()],
        when_not_matched=Insert(),
        commit_user="me",
        identifier=7,
        runner=by_spark,
    )
    assert (merged.deleted, merged.updated, merged.inserted) == (1, 1, 1)
    again = table.merge(
        source, "t.id = s.id", when_not_matched=Insert(), commit_user="me", identifier=7, runner=by_spark
    )
    assert not again.snapshots
    assert lake.rows() == [(1, "1v"), (3, "new"), (4, "v4"), (9, "new")]


def test_a_predicate_object_and_a_session_that_is_not_prepared_are_refused(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake.create()
    with pytest.raises(InvalidInputError, match="condition"):
        table.delete(7, runner=SparkStatements(lake.spark))  # type: ignore[arg-type]
    monkeypatch.setattr(code_shipping, "_MARK", "spark.table_format.unknown")
    with pytest.raises(InvalidInputError, match="call paimon"):
        SparkStatements(lake.spark)


def test_new_columns_are_refused_without_a_catalog(lake: TestLake) -> None:
    table = lake.create().copy({"write.merge-schema": "true"})
    source = lake.spark.sql("SELECT 1L AS id, 'a' AS v, 2 AS extra")
    with pytest.raises(UnsupportedFeature, match=r"extra would change; use Lake\.merge"):
        table.merge(source, "t.id = s.id", when_not_matched=Insert(), runner=SparkStatements(lake.spark))
    assert table.merge(
        source.drop("extra"), "t.id = s.id", when_not_matched=Insert(), runner=SparkStatements(lake.spark)
    ).inserted
