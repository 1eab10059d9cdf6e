"""File indexes of the real Paimon: ours are the same bytes, and with theirs the right files are skipped."""

from __future__ import annotations

import pytest

from table_format import Table, load_catalog
from table_format.codecs.file_index import decode_head, head_length
from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.index_writer import DataFileIndexWriter
from table_format.model.file_index import BLOOM_FILTER
from tests.support.deletion_marks import live
from tests.support.golden import golden_case
from tests.support.tables import rows_of

BLOOM_ONLY = [
    (f"file_index_bloom{version}", f"db.{table}")
    for version in ("", "__1.4.2")
    for table in ("separate_parquet", "separate_orc", "separate_avro", "in_manifest", "map_key")
]
MIXED = [
    (f"file_index_mixed{version}", f"db.{table}")
    for version in ("", "__1.4.2")
    for table in ("append_mixed", "pk_dv_mixed")
    if (version, table) != ("", "pk_dv_mixed")  # 0.9 makes no index for files of a primary-key table
]


def opened(case: str, name: str) -> Table:
    table = load_catalog({"warehouse": str(golden_case(case).warehouse)}).load_table(name)
    assert isinstance(table, Table)
    return table


def stored_and_made(table: Table) -> list[tuple[bytes, bytes]]:
    """The container of each file, as it is stored and as this library makes it of the file's rows."""
    facts = table.facts
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    found = []
    for entry in live(table):
        writer = DataFileIndexWriter(facts.schemas[entry.file.schema_id], facts.options.file_index)
        for batch in reader.read(entry.partition, entry.bucket, entry.file, facts.schema.fields):
            writer.write(batch)
        text = facts.partitions.text(entry.partition)
        beside = facts.store.paths.extra_files(text, entry.bucket, entry.file)
        stored = entry.file.embedded_file_index
        found.append((facts.store.io.read(beside[0]) if stored is None else stored, writer.finish()))
    return found


def payloads(container: bytes) -> dict[str, bytes]:
    """The bloom filter of each column."""
    length = head_length(container, path="f")
    assert length is not None
    places = decode_head(container[:length], path="f")
    blooms = {column: of_column[BLOOM_FILTER] for column, of_column in places.items() if BLOOM_FILTER in of_column}
    return {column: container[p.start : p.start + p.length] for column, p in blooms.items()}


@pytest.mark.parametrize(("case", "table"), BLOOM_ONLY)
def test_containers_are_the_same_bytes(case: str, table: str) -> None:
    pairs = stored_and_made(opened(case, table))
    assert pairs
    for stored, made in pairs:
        assert made == stored


@pytest.mark.parametrize(("case", "table"), MIXED)
def test_filters_beside_indexes_of_other_types_are_the_same_bytes(case: str, table: str) -> None:
    pairs = stored_and_made(opened(case, table))
    assert pairs
    for stored, made in pairs:
        assert payloads(made) == payloads(stored)
        assert payloads(made).keys() == {"s", "i"}


@pytest.mark.parametrize(("case", "name"), [pair for pair in (*BLOOM_ONLY, *MIXED) if pair[1] != "db.map_key"])
def test_each_value_is_found_and_others_skip_files(case: str, name: str) -> None:
    table = opened(case, name)
    rows = rows_of(table, columns=["id", "s"])
    for text in sorted({row[1] for row in rows if row[1] is not None}):
        assert rows_of(table, columns=["id", "s"], filter=f"s = '{text}'") == [row for row in rows if row[1] == text]
    dropped = sum(table.scan(filter=f"s = 's0{number}'").plan().counts.files_dropped_by_index for number in range(30))
    assert dropped > 0
    for number in range(30):
        assert rows_of(table, filter=f"s = 's0{number}'") == []
