"""Tables with deletion vectors that this library writes: each key is live once, and vectors are those of live files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Schema, Table
from table_format.indexes.deletion_vectors import VectorReader
from table_format.model.types import CharType
from tests.support.deletion_marks import live
from tests.support.tables import keyed, memory_warehouse, rows_of
from tests.table.changes.test_change_law import COMPACT, DELETE, OVERWRITE, UPSERT, State, state_at

HISTORY = st.lists(st.one_of(UPSERT, UPSERT, UPSERT, DELETE, COMPACT, OVERWRITE), min_size=2, max_size=10)
ENABLED = {"deletion-vectors.enabled": "true"}
common = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])


def check_marks(table: Table) -> None:
    """Every vector belongs to a live file; of the rows that are left each key is live once, above level 0."""
    snapshot = table.facts.snapshots.latest()
    assert snapshot is not None
    entries = {entry.file.file_name: entry.file for entry in live(table)}
    deleted = 0
    for files in table.facts.deletion_files(snapshot).values():
        for name, file in files.items():
            vector = VectorReader(table.store.io).read(file, entries[name].row_count)
            assert vector.cardinality == file.range.cardinality
            assert 0 < vector.cardinality <= entries[name].row_count
            deleted += vector.cardinality
    keys = [row[:2] for row in rows_of(table)]
    assert len(keys) == len(set(keys))
    assert all(file.level > 0 for file in entries.values())
    assert sum(file.row_count for file in entries.values()) - deleted == len(keys)


@common
@given(
    HISTORY,
    st.sampled_from(
        [
            {},
            {"deletion-vectors.bitmap64": "true"},
            {"changelog-producer": "lookup"},
            {"sequence.field": "v"},
            {"write-buffer-size": "200 b", "page-size": "64 b"},
            {"file.format": "avro"},
            {"file.format.per.level": "0:avro"},
            {"target-file-size": "1 b"},
        ]
    ),
)
def test_it_reads_as_the_table_that_merges_on_read(history: list[tuple[str, Any]], options: dict[str, str]) -> None:
    if "sequence.field" in options:
        # A compaction forgets a delete, here sooner than there; what comes late with a lower sequence is then new.
        history = [step for step in history if step[0] != "delete"]
    bucket = {"bucket": "1", "num-sorted-run.compaction-trigger": "3"}
    tables = [
        memory_warehouse().table(primary_keys=["id", "dt"], partition_keys=["dt"], options={**bucket, **more})
        for more in ({k: v for k, v in options.items() if k == "sequence.field"}, {**ENABLED, **options})
    ]
    for operation, argument in history:
        for table in tables:
            match operation:
                case "upsert":
                    table.append(keyed(argument))
                case "delete":
                    table.delete(f"id in ({', '.join(map(str, argument))})")
                case "compact":
                    table.compact(full=argument)
                case "overwrite":
                    table.overwrite(keyed(argument))
        plain, marked = tables
        assert rows_of(marked) == rows_of(plain)
        if marked.snapshots():
            check_marks(marked)


def test_what_is_not_compacted_is_not_seen() -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={**ENABLED, "bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    assert rows_of(table) == []
    table.compact()
    assert rows_of(table) == [(1, "a", 1)]


def test_an_old_row_is_marked_where_it_lies_and_its_file_stays() -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={**ENABLED, "bucket": "1"})
    table.append(keyed([(key, "a", key) for key in range(1000)]))
    (before,) = live(table)
    table.append(keyed([(7, "a", -7), (900, "a", -900), (5000, "a", 0)]))
    names = {entry.file.file_name: entry.file.level for entry in live(table)}
    assert names[before.file.file_name] == 5
    assert sorted(names.values()) == [4, 5]
    snapshot = table.facts.snapshots.latest()
    assert snapshot is not None
    ((_, files),) = table.facts.deletion_files(snapshot).items()
    vector = VectorReader(table.store.io).read(files[before.file.file_name], 1000)
    assert list(vector.positions) == [7, 900]
    table.compact(full=True)
    check_marks(table)
    assert len(live(table)) == 1
    (index,) = table.facts.manifests.index_entries(table.snapshots()[-1])
    assert (index.index_file.file_size, index.index_file.row_count) == (1, 0)


def test_each_snapshot_keeps_its_own_vectors() -> None:
    table = memory_warehouse().table(
        primary_keys=["id", "dt"], partition_keys=["dt"], options={**ENABLED, "bucket": "1"}
    )
    states: dict[int, State] = {}
    for step in range(4):
        table.append(keyed([(key, "a", step) for key in range(step, 20, step + 1)]))
        last = table.snapshots()[-1].id
        states[last] = state_at(table, last)
    assert all(state_at(table, snapshot_id) == state for snapshot_id, state in states.items())
    assert len({tuple(sorted(state.items())) for state in states.values()}) == 4


@pytest.mark.parametrize("options", [{}, {"write-buffer-size": "200 b", "page-size": "64 b"}])
def test_only_named_index_files_are_left(options: dict[str, str]) -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"], options={**ENABLED, "bucket": "1", **options})
    for step in range(5):
        table.append(keyed([(key, "a", step) for key in range(0, 60, step + 1)]))
    named = {
        f"index/{entry.index_file.file_name}"
        for snapshot in table.snapshots()
        for entry in table.facts.manifests.index_entries(snapshot)
    }
    assert {name for name in warehouse.files(table) if name.startswith("index/")} == named


def test_marks_of_another_writer_are_not_lost() -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={**ENABLED, "bucket": "1"})
    table.append(keyed([(key, "old", 0) for key in range(100)]))
    first, second = table.new_write(), table.new_write()
    messages = [first.write(keyed([(1, "new", 1)])), second.write(keyed([(50, "new", 1)]))]
    for part in messages:
        table.new_commit().commit(part)
    table.compact()
    assert [row for row in rows_of(table) if row[2]] == [(1, "new", 1), (50, "new", 1)]
    check_marks(table)


@pytest.mark.parametrize("data_format", ["orc", "parquet", "avro"])
def test_the_smallest_key_of_a_file_is_found_though_its_format_takes_spaces_away(data_format: str) -> None:
    columns = pa.schema([pa.field("k", pa.string(), nullable=False), ("v", pa.int32())])
    schema = Schema.from_arrow(columns, ("k",), (), {"bucket": "1", "file.format": data_format, **ENABLED})
    key, value = schema.fields
    schema = replace(schema, fields=(replace(key, type=CharType(5, nullable=False)), value))
    table = memory_warehouse().catalog.create_table("db.t", schema)
    table.append(pa.table([[f"{i:04d} " for i in range(3000)], pa.array([0] * 3000, pa.int32())], schema=columns))
    table.compact(full=True)
    table.append(pa.table([["0000 "], pa.array([1], pa.int32())], schema=columns))
    rows = {row["k"].strip(): row["v"] for row in table.scan().to_arrow().to_pylist()}
    assert table.scan().to_arrow().num_rows == len(rows) == 3000
    assert rows["0000"] == 1


@pytest.mark.parametrize("rows", [100, 25_000])
@pytest.mark.parametrize(("old", "new"), [(-0.0, 0.0), (0.0, -0.0), (float("nan"), float("nan"))])
def test_both_zeros_are_one_key_in_small_files_and_large_ones(rows: int, old: float, new: float) -> None:
    columns = pa.schema(
        [
            pa.field("j", pa.int32(), nullable=False),
            pa.field("k", pa.float64(), nullable=False),
            ("v", pa.int32()),
        ]
    )
    table = memory_warehouse().table(schema=columns, primary_keys=["j", "k"], options={"bucket": "1", **ENABLED})
    ids, zeros = pa.array(range(rows), pa.int32()), pa.array([0] * rows, pa.int32())
    table.append(pa.table([ids, pa.array([old] * rows), zeros], schema=columns))
    table.compact(full=True)
    one = pa.array([1], pa.int32())
    table.append(pa.table([pa.array([7], pa.int32()), pa.array([new]), one], schema=columns))
    assert table.scan(filter="j = 7", columns=["v"]).to_arrow().to_pylist() == [{"v": 1}]


def test_a_statement_sees_a_single_row_on_level_0_as_it_was_written() -> None:
    columns = [pa.field("k", pa.int32(), nullable=False), ("v", pa.string()), ("g", pa.int32()), ("w", pa.string())]
    options = {"merge-engine": "partial-update", "fields.g.sequence-group": "v", **ENABLED, "bucket": "1"}
    table = memory_warehouse().table(schema=pa.schema(columns), primary_keys=["k"], options=options)
    row = pa.table({"k": [1], "v": ["written"], "g": [None], "w": ["-"]}, schema=pa.schema(columns))
    table.copy({"write-only": "true"}).append(row)
    assert rows_of(table) == []
    assert table.update({"w": "v"}, "k = 1").updated == 1
    table.compact(full=True)
    assert rows_of(table) == [(1, None, None, "written")]
