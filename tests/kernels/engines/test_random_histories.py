"""Random histories of many keys at once, through the kernels and through the row-by-row model."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format.errors import RetractNotSupported
from table_format.kernels.aggregates import AggregateSpec
from table_format.kernels.compiled import Backend
from table_format.kernels.engines import Aggregation, Engine, FirstRow, PartialUpdate, SequenceGroup, combine
from table_format.kernels.merge import MergeSpec, merge_batches
from table_format.kernels.sort import sort_and_merge
from table_format.model.types import ArrayType, BigIntType, DataField, DataType, IntType, VarCharType
from tests.kernels.engines.model import Refused, Row, merged
from tests.kernels.merge_model import merged_groups

SCHEMA = pa.schema(
    [
        ("k", pa.int32()),
        ("a", pa.int64()),
        ("b", pa.string()),
        ("g", pa.int32()),
        ("c", pa.int64()),
        ("l", pa.list_(pa.int32())),
        ("h", pa.int32()),
        ("i", pa.string()),
        ("p", pa.string()),
        ("_SEQUENCE_NUMBER", pa.int64()),
        ("_VALUE_KIND", pa.int8()),
    ]
)
TYPES: dict[str, DataType] = {
    "a": BigIntType(),
    "b": VarCharType(),
    "g": IntType(),
    "c": BigIntType(),
    "l": ArrayType(IntType()),
    "h": IntType(),
    "i": VarCharType(),
    "p": VarCharType(),
}


def spec(function: str, column: str, **options: Any) -> AggregateSpec:
    return AggregateSpec(function, DataField(0, column, TYPES[column]), **options)


G = SequenceGroup(("g",), ("a", "b"))
H = SequenceGroup(("h", "i"), ("c", "l"))
ENGINES: dict[str, tuple[Engine, bool]] = {
    "first-row": (FirstRow(), False),
    "first-row, retracts ignored": (FirstRow(ignore_delete=True), True),
    "partial update": (PartialUpdate(), False),
    "partial update, retracts ignored": (PartialUpdate(ignore_delete=True), True),
    "partial update, deletes remove": (PartialUpdate(remove_on_delete=True), True),
    "groups": (PartialUpdate((G, H)), True),
    "groups, retracts ignored": (PartialUpdate((G, H), ignore_delete=True), True),
    "groups, one removes": (PartialUpdate((SequenceGroup(("g",), ("a", "b"), removes_record=True), H)), True),
    "groups, both remove": (
        PartialUpdate(
            (SequenceGroup(("g",), ("a", "b"), removes_record=True), SequenceGroup(H.sequence, H.members, True))
        ),
        True,
    ),
    "groups with functions": (
        PartialUpdate(
            (SequenceGroup(("g",), ("a", "b")), H),
            (spec("sum", "a"), spec("last_non_null_value", "b"), spec("sum", "c"), spec("collect", "l")),
        ),
        True,
    ),
    "groups with functions that go by order": (
        PartialUpdate((G, H), (spec("max", "a"), spec("first_value", "b"), spec("first_non_null_value", "c"))),
        False,
    ),
    "groups with functions, one removes": (
        PartialUpdate(
            (SequenceGroup(("g",), ("a", "b"), removes_record=True), H),
            (spec("sum", "a"), spec("first_value", "b", ignore_retract=True), spec("last_value", "c")),
        ),
        True,
    ),
    "groups with functions, retracts ignored": (
        PartialUpdate((G, H), (spec("sum", "a"), spec("max", "c")), ignore_delete=True),
        True,
    ),
    "aggregation": (
        Aggregation(
            (
                spec("sum", "a"),
                spec("last_non_null_value", "b"),
                spec("last_value", "g"),
                spec("sum", "c"),
                spec("collect", "l"),
                spec("max", "h", ignore_retract=True),
                spec("first_value", "i", ignore_retract=True),
                spec("listagg", "p", ignore_retract=True),
            )
        ),
        True,
    ),
    "aggregation, deletes remove": (
        Aggregation(
            (
                spec("sum", "a"),
                spec("last_non_null_value", "b"),
                spec("last_value", "g"),
                spec("sum", "c"),
                spec("last_non_null_value", "l"),
                spec("last_value", "h"),
                spec("last_value", "i"),
                spec("last_value", "p"),
            ),
            remove_on_delete=True,
        ),
        True,
    ),
}


def random_row(chance: random.Random, key: int, number: int, *, retracts: bool) -> Row:
    def perhaps(value: Any) -> Any:
        return None if chance.random() < 0.3 else value

    return {
        "k": key,
        "a": perhaps(chance.randrange(-9, 9)),
        "b": perhaps(chance.choice("xyz")),
        "g": perhaps(chance.randrange(4)),
        "c": perhaps(chance.randrange(-9, 9)),
        "l": perhaps([chance.randrange(3) for _ in range(chance.randrange(3))]),
        "h": perhaps(chance.randrange(3)),
        "i": perhaps(chance.choice(["", "a", "ab"])),
        "p": perhaps(chance.choice(["", "p", "q"])),
        "_SEQUENCE_NUMBER": number,
        "_VALUE_KIND": chance.choice([0, 0, 0, 2, 1, 3]) if retracts else chance.choice([0, 2]),
    }


def histories(seed: int, *, retracts: bool) -> list[list[Row]]:
    chance = random.Random(seed)
    lengths = [chance.choice([1, 1, 2, 2, 3, 4, 5, 30 if key % 50 == 0 else 6]) for key in range(250)]
    return [
        [random_row(chance, key, 100 * key + at, retracts=retracts) for at in range(length)]
        for key, length in enumerate(lengths)
    ]


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def expected(groups: list[list[Row]], engine: Engine) -> list[Row]:
    return [row for versions in groups if (row := merged(versions, engine)) is not None]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ENGINES)
def test_versions_are_combined_as_the_rules_say(name: str, seed: int):
    engine, retracts = ENGINES[name]
    groups = histories(seed, retracts=retracts)
    order = list(range(sum(map(len, groups))))
    random.Random(seed).shuffle(order)
    rows = [row for versions in groups for row in versions]
    shuffled = batch([rows[i] for i in order])
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    found = combine(shuffled, starts, engine, order=np.argsort(order))
    assert found.schema == SCHEMA
    assert found.to_pylist() == expected(groups, engine)


@pytest.mark.parametrize("name", ENGINES)
def test_one_key_of_very_many_versions_is_combined(name: str):
    engine, retracts = ENGINES[name]
    chance = random.Random(5)
    versions = [random_row(chance, 1, at, retracts=retracts) for at in range(700)]
    for row in versions[5:]:
        row["p"] = None
    assert combine(batch(versions), np.array([0]), engine).to_pylist() == expected([versions], engine)


@pytest.mark.parametrize("backend", [Backend.NUMPY, Backend.COMPILED])
@pytest.mark.parametrize("sequence", [(), ("g",)])
@pytest.mark.parametrize("name", ENGINES)
def test_runs_are_merged_as_the_rules_say(name: str, sequence: tuple[str, ...], backend: Backend):
    engine, retracts = ENGINES[name]
    chance = random.Random(name)
    runs = [
        [random_row(chance, key, 7 * age + key % 3, retracts=retracts) for key in range(200) if chance.random() < 0.6]
        for age in range(5)
    ]
    merging = MergeSpec(("k",), sequence, engine=engine)
    batches = [iter([batch(run[at : at + 23]) for at in range(0, len(run), 23)]) for run in runs]
    found = [row for b in merge_batches(batches, merging, backend=backend) for row in b.to_pylist()]
    assert found == expected(merged_groups(runs, merging), engine)


@pytest.mark.parametrize("name", ENGINES)
def test_a_write_buffer_is_merged_as_the_rules_say(name: str):
    engine, retracts = ENGINES[name]
    chance = random.Random(name)
    rows = [random_row(chance, chance.randrange(60), at, retracts=retracts) for at in range(300)]
    merging = MergeSpec(("k",), ("h",), by_sequence_number=False, engine=engine)
    groups = merged_groups([[row] for row in rows], merging)
    assert sort_and_merge(batch(rows), merging).to_pylist() == expected(groups, engine)


@pytest.mark.parametrize("name", ["first-row", "partial update", "partial update, deletes remove"])
def test_any_split_into_adjacent_parts_gives_the_same(name: str):
    """Guaranteed for adds; a retract without an earlier version is not merged, so it may be lost between parts."""
    engine, _ = ENGINES[name]
    groups = histories(11, retracts=False)
    chance = random.Random(3)
    for versions, whole in zip(groups, expected(groups, engine), strict=True):
        cut = chance.randrange(len(versions) + 1)
        parts = [part for part in (versions[:cut], versions[cut:]) if part]
        partial = [row for part in parts if (row := merged(part, engine)) is not None]
        found = combine(batch(partial), np.array([0]), engine).to_pylist()
        assert {**found[0], "_VALUE_KIND": 0} == {**whole, "_VALUE_KIND": 0}


@pytest.mark.parametrize("name", [n for n, (_, retracts) in ENGINES.items() if not retracts])
def test_refused_retracts_are_refused_wherever_they_are(name: str):
    engine, _ = ENGINES[name]
    for seed in range(5):
        groups = [v for v in histories(seed, retracts=True) if len(v) > 1][:20]
        refused = False
        try:
            expected(groups, engine)
        except Refused:
            refused = True
        starts = np.cumsum([0, *map(len, groups)])[:-1]
        rows = batch([row for versions in groups for row in versions])
        if refused:
            with pytest.raises(RetractNotSupported):
                combine(rows, starts, engine)
