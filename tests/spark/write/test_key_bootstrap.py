"""All keys of a table on their way to the assigners that have no index of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_format.spark.write import key_bootstrap
from table_format.spark.write.key_bootstrap import plan_bootstrap
from tests.spark.lakes import TestLake, a_lake, jobs_of
from tests.support.moving_keys import places_of, shards_content
from tests.support.tables import KEYED

pytestmark = pytest.mark.spark

COLUMNS = "id long, dt string, v int"


@pytest.fixture
def lake(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestLake:
    monkeypatch.setattr(key_bootstrap, "MANY_KEYS", 1)
    monkeypatch.setattr(key_bootstrap, "MANY_ASSIGNERS", 2)
    return a_lake(spark, tmp_path / "warehouse", {"local-cache.dir": str(tmp_path / "cache")})


def test_keys_are_read_once_and_sent_to_shards_without_an_index(lake: TestLake) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "20"}
    table = lake.create(schema=KEYED, partition_keys=("dt",), **options)
    lake.write([(i, "abc"[i % 3], i) for i in range(90)], COLUMNS, parallelism=1)
    base = table.latest_snapshot()
    planned = plan_bootstrap(lake.spark, table.facts, base, 3)
    assert planned.shards == {0, 1, 2}
    assert len(planned.splits) >= 5
    moves = lake.frame([(i, "c", -i) for i in range(0, 90, 2)], COLUMNS)
    *_, stages = jobs_of(lake.spark, lambda: lake.lake.write(moves, "s.t", parallelism=3))
    assert stages == [2 + len(planned.splits), 3, 3]  # the frame and the keys, then assigners, then writers
    expected = [(i, "c", -i) if i % 2 == 0 else (i, "abc"[i % 3], i) for i in range(90)]
    assert lake.rows() == sorted(expected, key=repr)
    # The indexes were made by the assigners, and stand for the snapshot the driver named.
    assert not plan_bootstrap(lake.spark, table.facts, table.latest_snapshot(), 3).shards
    *_, stages = jobs_of(lake.spark, lambda: lake.lake.write(moves, "s.t", parallelism=3))
    assert stages == [2, 3, 3]
    assert shards_content(table, 3) == places_of(table)


def test_the_indexes_of_assigners_are_checked_only_for_many_assigners_and_keys(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake.create(schema=KEYED, partition_keys=("dt",), bucket="-1")
    assert not plan_bootstrap(lake.spark, table.facts, None, 3).shards
    lake.write([(1, "a", 1)], COLUMNS, parallelism=1)
    base = table.latest_snapshot()
    assert jobs_of(lake.spark, lambda: plan_bootstrap(lake.spark, table.facts, base, 1)) == []
    monkeypatch.setattr(key_bootstrap, "MANY_KEYS", 2)
    assert jobs_of(lake.spark, lambda: plan_bootstrap(lake.spark, table.facts, base, 2)) == []
