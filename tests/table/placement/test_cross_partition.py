"""Tables whose primary key lacks partition columns: a key is in one partition, and may change it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema_change import SetOption
from table_format.runtime import Runtime
from table_format.table.write.table_write import TableWrite
from tests.support.matrix import MATRIX
from tests.support.moving_keys import (
    ENGINES,
    index_content,
    moving,
    places_of,
    rebuilt_content,
    rows,
    with_runtime,
)
from tests.support.tables import KEYED, Warehouse, memory_warehouse, rows_of


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


def log_of(warehouse: Warehouse, table: Table, after: int) -> list[tuple[Any, ...]]:
    """The changes of one snapshot, with their kinds."""
    opened = warehouse.catalog.load_table(f"{table.identifier}$audit_log")
    found = opened.scan(options={"incremental-between": f"{after - 1},{after}"}).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_deduplicate_deletes_the_key_where_it_lay(warehouse: Warehouse) -> None:
    table = moving(warehouse, changelog_producer="input")
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p2", 2)))
    assert rows_of(table) == [(1, "p2", 2)]
    # The delete has the values of the row that moved the key, as in the reference.
    assert log_of(warehouse, table, 2) == [("+I", 1, "p2", 2), ("-D", 1, "p1", 2)]
    assert [e.total_buckets for e in table.facts.manifests.delta_entries(table.latest_snapshot())] == [-1, -1]
    assert table.latest_snapshot().index_manifest is None


@pytest.mark.parametrize(
    ("engine", "options", "value"),
    [
        ("partial-update", {}, [(1, "p1", 2)]),
        ("aggregation", {"fields__v__aggregate-function": "sum"}, [(1, "p1", 3)]),
        ("first-row", {}, [(1, "p1", 1)]),
    ],
)
def test_other_engines_leave_the_key_where_it_lies(
    warehouse: Warehouse, engine: str, options: dict[str, str], value: list[tuple[Any, ...]]
) -> None:
    apart = moving(warehouse, "apart", merge_engine=engine, **options)
    apart.append(rows((1, "p1", 1)))
    apart.append(rows((1, "p2", 2)))
    at_once = moving(warehouse, "at_once", merge_engine=engine, **options)
    at_once.append(rows((1, "p1", 1), (1, "p2", 2)))
    for table in (apart, at_once):
        table.compact(full=True)
        assert rows_of(table) == value


@pytest.mark.parametrize(
    "options",
    [
        {"merge_engine": "aggregation"},
        {"merge_engine": "aggregation", "fields__default_aggregate_function": "sum"},
        {"merge_engine": "aggregation", "aggregation__remove_record_on_delete": "true"},
        {"merge_engine": "aggregation", "changelog_producer": "lookup"},
        {"merge_engine": "partial-update", "partial_update__remove_record_on_delete": "true"},
        {"merge_engine": "partial-update", "fields__v__sequence_group": "w", "deletion_vectors__enabled": "true"},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_a_row_has_the_values_of_its_partition_whatever_is_taken_back(
    warehouse: Warehouse, options: dict[str, str], seed: int
) -> None:
    chance = random.Random(seed)
    schema = KEYED.append(pa.field("w", pa.int64()))
    table = moving(warehouse, schema=schema, **options)
    for _ in range(5):
        given = rows(
            *((chance.randrange(6), chance.choice(("p", "q", None)), chance.randrange(9)) for _ in range(8)),
            kinds=chance.choices(("+I", "+U", "-U", "-D"), (4, 1, 1, 1), k=8),
        )
        numbers = pa.array([chance.choice((None, 1, 2)) for _ in range(8)], pa.int64())
        table.append(given.append_column("w", numbers))
        if chance.random() < 0.3:
            table.compact(full=chance.random() < 0.5)
        by_key = {id: dt for id, dt, *_ in rows_of(table)}
        lie = {key: text for (key,), (text, _) in index_content(table).items()}
        assert by_key == {key: {"dt=p": "p", "dt=q": "q"}.get(lie[key]) for key in by_key}
        found = [table.scan(filter=condition).to_arrow() for condition in ("dt = 'p'", "dt = 'q'", "dt IS NULL")]
        assert sum(part.num_rows for part in found) == len(by_key)


def test_a_key_that_comes_twice_at_once_lies_where_it_came_last(warehouse: Warehouse) -> None:
    table = moving(warehouse, changelog_producer="input")
    table.append(rows((1, "p1", 1), (2, "p1", 2), (1, "p2", 3), (1, "p3", 4), (2, "p2", 5), (2, "p1", 6), (1, "p3", 7)))
    assert rows_of(table) == [(1, "p3", 7), (2, "p1", 6)]
    assert index_content(table) == places_of(table)
    changes = log_of(warehouse, table, 1)
    assert [c for c in changes if c[0] == "-D"] == [
        ("-D", 1, "p1", 3),
        ("-D", 1, "p2", 4),
        ("-D", 2, "p1", 5),
        ("-D", 2, "p2", 6),
    ]


def test_a_table_that_would_leave_a_key_in_two_partitions_is_not_created(warehouse: Warehouse) -> None:
    message = "'ignore-delete': does not work with 'merge-engine' = deduplicate and a primary key that lacks partition"
    with pytest.raises(InvalidOption, match=message):
        moving(warehouse, ignore_delete="true")
    table = moving(warehouse)
    with pytest.raises(InvalidOption, match=message):
        warehouse.catalog.alter_table(str(table.identifier), SetOption("ignore-delete", "true"))
    with pytest.raises(
        InvalidOption, match=r"'sequence\.field': does not work with a primary key that lacks partition"
    ):
        warehouse.catalog.alter_table(str(table.identifier), SetOption("sequence.field", "v"))


@pytest.mark.parametrize("at_once", [False, True])
def test_a_key_does_not_move_if_its_delete_would_be_ignored(warehouse: Warehouse, at_once: bool) -> None:
    created = moving(warehouse)
    ignoring = replace(created.schema, options={**created.schema.options, "ignore-delete": "true"})  # as Paimon can
    table = Table(created.identifier, created.store, ignoring)
    facts = table.facts
    before = [] if at_once else [(1, "p1", 1)]
    if before:
        created.append(rows(*before))
    write = TableWrite(facts)
    with pytest.raises(UnsupportedFeature, match=r"db\.t: key \{'id': 1\} moves to partition \{'dt': 'p2'\}"):
        write.write(rows((1, "p1", 1), (1, "p2", 2)))
    write.abort()
    assert rows_of(created) == before


def test_a_delete_finds_its_key_in_another_partition(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1), (2, "p1", 2)))
    table.append(rows((1, "p2", None), kinds=["-D"]))
    assert rows_of(table) == [(2, "p1", 2)]
    table.append(rows((2, "p1", 2), (2, "p3", 9), kinds=["-U", "+U"]))
    assert rows_of(table) == [(2, "p3", 9)]
    table.delete("id = 2")
    assert rows_of(table) == []
    assert index_content(table) == {}


def test_new_keys_fill_the_buckets_of_their_partition(warehouse: Warehouse) -> None:
    table = moving(warehouse, dynamic_bucket__target_row_num="2")
    table.append(rows(*((i, "p1", i) for i in range(5))))
    assert sorted(places_of(table).values()) == [("dt=p1", 0), ("dt=p1", 0), ("dt=p1", 1), ("dt=p1", 1), ("dt=p1", 2)]
    # Two keys go, so that there is room in bucket 0 again.
    table.append(rows((0, "p2", 0), (1, "p2", 1)))
    table.append(rows((7, "p1", 7), (8, "p1", 8), (9, "p1", 9)))
    assert sorted(b for p, b in places_of(table).values() if p == "dt=p1") == [0, 0, 1, 1, 2, 2]
    limited = moving(warehouse, "limited", dynamic_bucket__target_row_num="1", dynamic_bucket__max_buckets="2")
    limited.append(rows(*((i, "p1", i) for i in range(9))))
    assert {bucket for _, bucket in places_of(limited).values()} == {0, 1}


HISTORIES = [(e, s) for e in ENGINES for s in range(2) if MATRIX or s == 0 or e == "deduplicate"]
"""Of those of ``deduplicate``, one has a changelog and one has deletion vectors."""


@pytest.mark.parametrize(("engine", "seed"), HISTORIES)
def test_histories_are_those_of_a_dictionary(warehouse: Warehouse, tmp_path: Path, engine: str, seed: int) -> None:
    chance = random.Random(f"{engine} {seed}")
    options = {"dynamic_bucket__target_row_num": str(chance.randrange(1, 6)), "merge_engine": engine}
    if chance.random() < 0.5 and engine != "first-row":
        options["deletion_vectors__enabled"] = "true"
    elif engine == "deduplicate":
        options["changelog_producer"] = chance.choice(("input", "lookup", "full-compaction"))
    table = moving(warehouse, **options)
    model: dict[int, tuple[str, int]] = {}
    for turn in range(9):
        batch, kinds = [], []
        for number in range(chance.randrange(1, 12)):
            key, partition, value = chance.randrange(12), chance.choice("abc"), turn * 100 + number
            kind = "-D" if engine == "deduplicate" and chance.random() < 0.2 else "+I"
            batch.append((key, partition, value))
            kinds.append(kind)
            there = model.get(key)
            if kind == "-D":
                model.pop(key, None)
            elif engine == "deduplicate" or there is None:
                model[key] = (partition, value)
            elif engine != "first-row":
                model[key] = (there[0], value)
        table.append(rows(*batch, kinds=kinds))
        match chance.randrange(6):
            case 0:
                table.compact(full=True)
            case 1:
                partition = chance.choice("abc")
                table.drop_partitions([{"dt": partition}])
                model = {key: lies for key, lies in model.items() if lies[0] != partition}
            case 2:
                table = warehouse.reopened(table)
        if chance.random() < 0.3:
            kept, fresh = index_content(table), rebuilt_content(table, tmp_path)
            assert kept == fresh == places_of(table)
        expected = sorted(((k, p, v) for k, (p, v) in model.items()), key=repr)
        assert rows_of(table) == expected
        key, partition = chance.randrange(12), chance.choice("abc")
        assert rows_of(table, filter=f"id = {key}") == [row for row in expected if row[0] == key]
        assert rows_of(table, filter=f"dt = '{partition}'") == [row for row in expected if row[1] == partition]


def test_partitions_by_the_time_of_the_event_keep_one_row_for_each_key_of_a_complete_feed(warehouse: Warehouse) -> None:
    table = warehouse.table(
        "feed", primary_keys=["id", "dt"], partition_keys=["dt"], options={"changelog-producer": "input"}
    )
    table.append(rows((1, "d1", 1), (2, "d1", 2)))
    table.append(rows((1, "d1", 1), (1, "d2", 3), (2, "d1", 2), (2, "d1", 4), kinds=["-U", "+U", "-U", "+U"]))
    assert rows_of(table) == [(1, "d2", 3), (2, "d1", 4)]


# --- keys of all types, and refusals ----------------------------------------------------------------------------------


def test_keys_of_every_type_are_found_again(warehouse: Warehouse) -> None:
    types = {
        "b": pa.bool_(), "i1": pa.int8(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64(), "f4": pa.float32(),
        "f8": pa.float64(), "dec": pa.decimal128(30, 4), "s": pa.string(), "raw": pa.binary(), "d": pa.date32(),
        "t": pa.time32("ms"), "ts": pa.timestamp("us"), "ltz": pa.timestamp("ms", "UTC"), "n9": pa.timestamp("ns"),
    }  # fmt: skip
    count = 40
    chance = np.random.default_rng(3)

    def column(t: pa.DataType) -> pa.Array:
        numbers = chance.integers(0, 100, count)
        if pa.types.is_floating(t):
            values = np.where(numbers < 10, np.nan, np.where(numbers < 20, -0.0, numbers / 8 - 5))
            return pa.array(values, pa.float64()).cast(t)
        if pa.types.is_boolean(t):
            return pa.array(numbers % 2 == 0)
        if t == pa.string():
            return pa.array([f"k\0ö{n}" for n in numbers])
        if t == pa.binary():
            return pa.array([bytes([n, 0, 255 - n]) for n in numbers.tolist()])
        if pa.types.is_decimal(t):
            return pa.array(numbers).cast(t)
        if t == pa.time32("ms") or t == pa.date32():
            return pa.array(numbers.astype(np.int32)).view(t)
        if pa.types.is_timestamp(t):
            return pa.array(numbers * 1001).view(t)
        return pa.array(numbers).cast(t)

    fields = [pa.field(name, t, nullable=False) for name, t in types.items()]
    schema = pa.schema([*fields, pa.field("dt", pa.string()), pa.field("id", pa.int64())])
    table = warehouse.table("types", schema, primary_keys=list(types), partition_keys=["dt"], options={"bucket": "-1"})
    keys = [column(t) for t in types.values()]
    for turn in range(3):
        names = [f"p{(i + turn) % 3}" for i in range(count)]
        values = pa.array(range(turn * 100, turn * 100 + count))
        table.append(pa.table([*keys, pa.array(names), values], schema=schema))
    assert sorted(row[-1] for row in rows_of(table)) == list(range(200, 200 + count))


def test_a_key_with_some_of_the_partition_columns_moves_among_the_rest(warehouse: Warehouse) -> None:
    schema = pa.schema([*(pa.field(n, pa.string(), nullable=False) for n in ("k", "region")), ("dt", pa.int32())])
    table = warehouse.table(
        "some", schema, primary_keys=["k", "region"], partition_keys=["region", "dt"], options={"bucket": "-1"}
    )

    def some(*given: tuple[str, str, int | None]) -> pa.Table:
        return pa.table([pa.array(c) for c in zip(*given, strict=True)], schema=schema)

    table.append(some(("a", "eu", 1), ("a", "us", 1)))
    table.append(some(("a", "eu", 2), ("b", "us", None)))
    table.append(some(("b", "us", 3)))
    assert rows_of(table) == [("a", "eu", 2), ("a", "us", 1), ("b", "us", 3)]


def test_partitions_are_not_overwritten_one_by_one(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1), (2, "p2", 2)))
    for given in ({}, {"partition": {"dt": "p1"}}):
        with pytest.raises(UnsupportedFeature, match=r"db\.t: .*keys may be in partitions that are not replaced"):
            table.overwrite(rows((2, "p1", 3)), **given)
    assert rows_of(table) == [(1, "p1", 1), (2, "p2", 2)]
    whole = table.copy({"dynamic-partition-overwrite": "false"})
    whole.overwrite(rows((2, "p1", 3), (3, "p1", 4), (3, "p2", 5)))
    assert rows_of(table) == [(2, "p1", 3), (3, "p2", 5)]
    table.append(rows((2, "p2", 6)))
    assert rows_of(table) == [(2, "p2", 6), (3, "p2", 5)]
    assert index_content(table) == places_of(table)
