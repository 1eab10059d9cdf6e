"""The files that may contain the keys of a commit, found by key ranges and compared with the actual keys."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from table_format.metastore.commit.key_changes import KeySpans
from table_format.model.manifest import FileKind, ManifestEntry
from tests.support.moving_keys import moving
from tests.support.tables import Warehouse, keyed, memory_warehouse


@pytest.fixture
def memory() -> Warehouse:
    return memory_warehouse()


def entries_of(warehouse: Warehouse, name: str, keys: list[list[int]], options: dict[str, str]) -> list[ManifestEntry]:
    """A file for each list of keys, of one bucket."""
    table = warehouse.table(name, primary_keys=["id"], options={"write-only": "true", **options})
    for found in keys:
        table.append(keyed([(key, "a", 0) for key in found]))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    facts = table.facts
    return list(facts.live_files(snapshot).entries)


def test_a_file_may_hold_a_key_exactly_when_its_range_meets_that_of_a_file(memory: Warehouse) -> None:
    chance = random.Random(7)
    ranges = [sorted(chance.sample(range(60), 2)) for _ in range(16)]
    entries = entries_of(memory, "t", ranges, {"bucket": "1"})
    schema = memory.catalog.load_table("db.t").facts.schema  # type: ignore[union-attr]
    bounds = dict(zip((e.file.file_name for e in entries), ranges, strict=True))
    for count in (0, 1, 3):
        mine = entries[:count]
        spans = KeySpans(schema, mine)
        for other in entries[3:]:
            low, high = bounds[other.file.file_name]
            meets = any(a <= high and low <= b for a, b in (bounds[e.file.file_name] for e in mine))
            assert spans.may_hold(other) is meets
            assert not spans.may_hold(replace(other, bucket=1))
            assert spans.may_hold(replace(other, bucket=1), in_any_bucket=True) is meets
            assert not spans.may_hold(replace(other, partition=b"elsewhere"), in_any_bucket=True)


def test_files_that_are_removed_hold_no_new_keys(memory: Warehouse) -> None:
    (entry,) = entries_of(memory, "t", [[1, 2]], {"bucket": "1"})
    schema = memory.catalog.load_table("db.t").facts.schema  # type: ignore[union-attr]
    assert not KeySpans(schema, [replace(entry, kind=FileKind.DELETE)]).may_hold(entry)


def test_postponed_files_may_hold_any_key_of_their_partition(memory: Warehouse) -> None:
    (one, other) = entries_of(memory, "t", [[1], [2]], {"bucket": "-2"})
    (real,) = entries_of(memory, "u", [[7]], {"bucket": "1"})
    schema = memory.catalog.load_table("db.t").facts.schema  # type: ignore[union-attr]
    assert KeySpans(schema, [one]).may_hold(other)
    assert KeySpans(schema, [one]).may_hold(real)
    assert KeySpans(schema, [real]).may_hold(one)
    assert not KeySpans(schema, [one]).may_hold(replace(other, partition=b"elsewhere"))


def test_a_key_that_may_move_is_the_same_in_every_partition(memory: Warehouse) -> None:
    (entry,) = entries_of(memory, "u", [[1, 5]], {"bucket": "1"})
    schema = moving(memory).facts.schema
    elsewhere = replace(entry, partition=b"elsewhere", bucket=3)
    assert KeySpans(schema, [entry]).may_hold(elsewhere)
