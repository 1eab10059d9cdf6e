"""Merge engines in a bucket: buffers, runs, levels and compaction give what merging all rows in order gives."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pyarrow as pa
import pytest

from table_format.lsm.merge_spec import engine_of, merge_spec
from table_format.lsm.runs import MAX_FAN_IN
from table_format.model.arrow_types import arrow_schema
from table_format.model.schema import VALUE_KIND, TableSchema
from table_format.model.types import BigIntType, DataField, IntType, VarCharType
from table_format.options.table_options import TableOptions
from tests.kernels.engines.model import merged
from tests.lsm.tables import Bucket

SCHEMA = TableSchema(
    id=0,
    fields=(
        DataField(0, "k", IntType(nullable=False)),
        DataField(1, "a", BigIntType()),
        DataField(2, "b", VarCharType()),
        DataField(3, "g", IntType()),
    ),
    highest_field_id=3,
    primary_keys=("k",),
)
ASSOCIATIVE = {
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "groups": {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"},
    "groups with functions": {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "a,b",
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "last_non_null_value",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "max",
        "fields.g.aggregate-function": "first_value",
    },
}


def random_rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    def perhaps(value: Any) -> Any:
        return None if chance.random() < 0.3 else value

    return [
        {
            "k": chance.randrange(25),
            "a": perhaps(chance.randrange(-9, 9)),
            "b": perhaps(chance.choice("xyz")),
            "g": perhaps(chance.randrange(5)),
        }
        for _ in range(count)
    ]


def write(bucket: Bucket, rows: list[dict[str, Any]], *, compact: bool) -> None:
    writer = bucket.writer()
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(SCHEMA.fields))
    kinds = pa.array([0] * len(rows), pa.int8())
    writer.write(batch.append_column(pa.field(VALUE_KIND.name, pa.int8(), nullable=False), kinds))
    bucket.commit(writer.prepare(compact=compact))


def expected(rows: list[dict[str, Any]], options: dict[str, str]) -> list[tuple[Any, ...]]:
    parsed = TableOptions.parse(options)
    engine = engine_of(SCHEMA, parsed.merge)
    assert engine is not None
    groups: dict[int, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row["k"], []).append({**row, "_SEQUENCE_NUMBER": number, "_VALUE_KIND": 0})
    results = [merged(versions, engine) for versions in groups.values()]
    return sorted((tuple(row[name] for name in SCHEMA.field_names) for row in results if row), key=repr)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ASSOCIATIVE)
def test_any_schedule_of_flushes_and_compactions_gives_the_same(name: str, seed: int):
    chance = random.Random(f"{name}{seed}")
    options = {
        **ASSOCIATIVE[name],
        "num-sorted-run.compaction-trigger": chance.choice("235"),
        "write-buffer-size": chance.choice(["64 b", "300 b", "1 mb"]),
        "target-file-size": chance.choice(["1 b", "1 mb"]),
    }
    bucket = Bucket(options, schema=SCHEMA)
    written: list[dict[str, Any]] = []
    for _ in range(6):
        rows = random_rows(chance, chance.choice([1, 5, 30]))
        written += rows
        write(bucket, rows, compact=chance.random() < 0.5)
        if chance.random() < 0.3:
            bucket.compact(full=chance.random() < 0.5)
        assert bucket.read() == expected(written, options)
    bucket.compact()
    assert bucket.read() == expected(written, options)


@pytest.mark.parametrize("name", ["partial-update", "groups with functions", "aggregation"])
def test_very_many_runs_are_merged_at_once(name: str):
    options = {**ASSOCIATIVE[name], "write-only": "true"}
    bucket, chance = Bucket(options, schema=SCHEMA), random.Random(name)
    written: list[dict[str, Any]] = []
    for _ in range(2 * MAX_FAN_IN + 3):
        rows = random_rows(chance, 4)
        written += rows
        write(bucket, rows, compact=False)
    assert len(bucket.levels.runs) > 2 * MAX_FAN_IN
    assert bucket.read() == expected(written, options)


def test_of_levels_that_were_compacted_by_lookup_the_lowest_stands_for_all():
    """A compaction by lookup merges the row of a key on a higher level, and leaves that row there."""
    options = {**ASSOCIATIVE["aggregation"], "write-only": "true"}
    bucket = Bucket(options, schema=SCHEMA)
    write(bucket, [{"k": 1, "a": 5, "b": "x", "g": 1}, {"k": 2, "a": 1, "b": "x", "g": 1}], compact=False)
    bucket.compact()
    write(bucket, [{"k": 1, "a": 7, "b": "y", "g": 2}], compact=False)
    (new,) = (file for file in bucket.live if file.level == 0)
    bucket.live = (*(file for file in bucket.live if file.level > 0), new.upgrade(4))
    write(bucket, [{"k": 1, "a": 100, "b": None, "g": None}], compact=False)
    by_lookup = Bucket({**options, "changelog-producer": "lookup"}, schema=SCHEMA, live=bucket.live, store=bucket.store)
    assert bucket.read("k", "a") == [(1, 112), (2, 1)]
    assert by_lookup.read("k", "a") == [(1, 107), (2, 1)]


def test_the_engine_can_be_pickled():
    for options in ASSOCIATIVE.values():
        spec = merge_spec(SCHEMA, TableOptions.parse(options))
        assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301
