"""Tables as older and other writers of the format leave them: what is stored differs, what is read does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import BadEncoding
from table_format.formats.avro_reader import AvroFileReader
from table_format.formats.registry import format_of
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import EMPTY_STATS
from table_format.model.manifest import ManifestEntry
from tests.support.deletion_marks import live
from tests.support.forged_state import forge
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of
from tests.support.taken_over_files import taken_over


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def of_version(warehouse: Warehouse, table: Table, version: int, **options: str) -> Table:
    """The table with a first schema as a release of that schema version writes it."""
    path = table.store.paths.schema(0)
    stored = json.loads(warehouse.io.read(path))
    warehouse.io.overwrite(path, json.dumps({**stored, "version": version, "options": options}).encode())
    return warehouse.reopened(table)


def test_an_append_table_of_version_0_7_has_one_bucket_and_no_key_for_it(warehouse: Warehouse) -> None:
    table = of_version(warehouse, warehouse.table(partition_keys=["dt"]), 1)
    rows = [(i, "ab"[i % 2], i) for i in range(6)]
    for _ in range(3):
        table.append(keyed(rows))
    assert {(split.bucket, split.total_buckets) for split in table.scan().plan().splits} == {(0, 1)}
    assert len(table.scan().plan().splits) == 2
    table.compact(full=True)
    assert rows_of(table) == sorted(rows * 3, key=repr)
    table.delete("id < 4")
    assert {row[0] for row in rows_of(table)} == {4, 5}


def with_nullable_system_columns(table: Table, entry: ManifestEntry, *, nulls: bool = False) -> ManifestEntry:
    """The data file written again as pypaimon-rust does it: every column of its Avro schema may be null."""
    io, path = table.store.io, table.store.paths.data_file("dt=a", entry.bucket, entry.file)
    with io.open_input(path) as source:
        stored = table.schema.physical_fields
        batches = list(AvroFileReader(source, path).batches(stored, row_groups=None, batch_rows=1000))
    io.delete(path)
    nullable = tuple(replace(field, type=field.type.with_nullable(True)) for field in stored)
    with io.open_output(path) as sink:
        writer = format_of("avro").open_writer(sink, nullable, table.facts.options.files)
        for batch in batches:
            columns = [pa.nulls(len(c), c.type) if nulls else c for c in batch.columns]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=arrow_schema(nullable)))
        size = writer.close().file_size
    return replace(entry, file=replace(entry.file, file_size=size))


def test_avro_files_whose_sequence_numbers_may_be_null_are_compacted(warehouse: Warehouse) -> None:
    table = warehouse.table(
        primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1", "file.format": "avro"}
    )
    for value in range(3):
        table.append(keyed([(1, "a", value), (value + 5, "a", value)]))
    changed = {entry.file.file_name: with_nullable_system_columns(table, entry) for entry in live(table)}
    table = forge(table, lambda entries: [changed[entry.file.file_name] for entry in entries])
    expected = [(1, "a", 2), (5, "a", 0), (6, "a", 1), (7, "a", 2)]
    assert rows_of(table) == expected
    table.append(keyed([(8, "a", 3)]))
    table.compact(full=True)
    assert rows_of(table) == [*expected, (8, "a", 3)]
    assert [entry.file.level for entry in live(table)] == [5]


def test_an_avro_file_without_sequence_numbers_is_damaged(warehouse: Warehouse) -> None:
    options = {"bucket": "1", "file.format": "avro"}
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    table.append(keyed([(1, "a", 1)]))
    table.append(keyed([(1, "a", 2)]))
    changed = {e.file.file_name: with_nullable_system_columns(table, e, nulls=True) for e in live(table)}
    table = forge(table, lambda entries: [changed[entry.file.file_name] for entry in entries])
    with pytest.raises(BadEncoding, match="may not be null"):
        table.compact(full=True)


def test_the_row_count_in_snapshots_of_a_table_of_version_0_4_is_not_relied_on(warehouse: Warehouse) -> None:
    table = warehouse.table()
    for value in range(2):
        table.append(keyed([(value, "a", value)]))
    wrong = forge(table, snapshot=lambda snapshot: replace(snapshot, total_record_count=77))
    with pytest.raises(BadEncoding, match="totalRecordCount"):
        rows_of(wrong)
    old = of_version(warehouse, wrong, 1, bucket="-1")
    assert len(rows_of(old)) == 2
    old.append(keyed([(2, "a", 2)]))
    assert len(rows_of(old)) == 3


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_files_without_partition_columns_have_the_values_of_their_partition(
    warehouse: Warehouse, file_format: str
) -> None:
    table = warehouse.table(partition_keys=["dt"], options={"file.format": file_format})
    rows = [(i, "ab"[i % 2], i * 10) for i in range(6)]
    table.append(keyed(rows))
    table = taken_over(table)
    assert rows_of(table) == rows
    assert rows_of(table, filter="dt = 'b' AND id > 1") == [(3, "b", 30), (5, "b", 50)]
    assert rows_of(table, filter="dt > 'b' OR id = 2") == [(2, "a", 20)]
    assert table.scan(columns=["dt"]).to_arrow()["dt"].to_pylist().count("a") == 3
    assert table.verify(depth="rows").is_healthy
    table.update({"dt": "'c'"}, "dt = 'b' AND id = 3")
    table.delete("dt = 'a' AND id = 0")
    expected = [(1, "b", 10), (2, "a", 20), (3, "c", 30), (4, "a", 40), (5, "b", 50)]
    assert rows_of(table) == expected
    table.compact(full=True)
    assert rows_of(table) == expected


def test_the_values_of_the_partition_take_the_place_of_those_in_the_file(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))

    def swapped(entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
        a, b = sorted(entries, key=lambda entry: entry.partition)
        there = table.store.paths.data_file("dt=b", 0, a.file)
        if table.store.io.status(there) is None:
            table.store.io.create(there, table.store.io.read(table.store.paths.data_file("dt=a", 0, a.file)))
        without_bounds = replace(a.file, value_stats=EMPTY_STATS, value_stats_cols=())
        return [replace(a, partition=b.partition, file=without_bounds), b]

    table = forge(table, swapped)
    assert rows_of(table) == [(1, "b", 1), (2, "b", 2)]
    assert rows_of(table, filter="dt = 'b'") == [(1, "b", 1), (2, "b", 2)]
    assert [finding.check for finding in table.verify(depth="rows").findings] == ["partition"]
