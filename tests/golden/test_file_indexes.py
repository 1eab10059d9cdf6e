"""File indexes of the real Paimon: ours are the same bytes, and theirs select the rows of a full scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from table_format import Table, load_catalog
from table_format.codecs.file_index import decode_head, head_length
from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.index_writer import DataFileIndexWriter
from table_format.indexes.file_index import FileIndex, FileIndexes
from table_format.kernels.file_index.results import Rows, Skip
from table_format.kernels.predicate import matches
from table_format.kernels.values import values_of
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or, Predicate
from table_format.model.types import BooleanType, DataField
from table_format.options.declare import parse_group
from table_format.options.file_index import FileIndexOptions
from table_format.table.upkeep.declared_indexes import index_coverage
from tests.support.deletion_marks import live
from tests.support.golden import golden_case
from tests.support.tables import rows_of

PLACES = ("separate_parquet", "separate_orc", "separate_avro", "in_manifest")
BLOOM_ONLY = [
    (f"file_index_bloom{version}", f"db.{table}") for version in ("", "__1.4.2") for table in (*PLACES, "map_key")
]
BITMAPS = [
    *((f"file_index_bitmap{version}", f"db.{table}") for version in ("", "__1.4.2") for table in PLACES),
    *(("file_index_bitmap__1.4.2", f"db.{table}") for table in ("small_blocks", "version_1")),
]
BSI = [("file_index_bsi", f"db.{table}") for table in ("separate_parquet", "separate_orc", "in_manifest")]
RANGE_BITMAPS = [("file_index_mixed__1.4.2", "db.range_bitmap")]
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


def stored_and_made(table: Table, options: Mapping[str, str] | None = None) -> list[tuple[bytes, bytes]]:
    """The container of each file, as it is stored and as this library makes it of the file's rows."""
    facts = table.facts
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    indexes = parse_group(FileIndexOptions, {**table.schema.options, **(options or {})})
    found = []
    for entry in live(table):
        writer = DataFileIndexWriter(facts.schemas[entry.file.schema_id], indexes)
        for batch in reader.read(entry.partition, entry.bucket, entry.file, facts.schema.fields):
            writer.write(batch)
        text = facts.partitions.text(entry.partition)
        beside = facts.store.paths.extra_files(text, entry.bucket, entry.file)
        stored = entry.file.embedded_file_index
        found.append((facts.store.io.read(beside[0]) if stored is None else stored, writer.finish()))
    return found


def payloads(container: bytes) -> dict[tuple[str, str], bytes]:
    """The indexes by column and type."""
    length = head_length(container, path="f")
    assert length is not None
    places = decode_head(container[:length], path="f")
    return {
        (column, index_type): container[place.start : place.start + place.length]
        for column, of_column in places.items()
        for index_type, place in of_column.items()
    }


def of_its_version(case: str, table: Table) -> dict[str, str]:
    """Version 0.9 makes bitmaps of version 1, which its tables do not state."""
    columns = table.options.file_index.columns.get("bitmap", ())
    return {f"file-index.bitmap.{c}.version": "1" for c in columns if not case.endswith("__1.4.2")}


@pytest.mark.parametrize(("case", "name"), [*BLOOM_ONLY, *BITMAPS, *BSI, *RANGE_BITMAPS, MIXED[1], MIXED[2]])
def test_containers_are_the_same_bytes(case: str, name: str) -> None:
    table = opened(case, name)
    pairs = stored_and_made(table, of_its_version(case, table))
    assert pairs
    for stored, made in pairs:
        assert made == stored


@pytest.mark.parametrize(("case", "name"), [*BLOOM_ONLY, *BITMAPS, *BSI, *RANGE_BITMAPS, MIXED[1], MIXED[2]])
def test_a_rewrite_leaves_the_indexes_that_java_has_built(case: str, name: str) -> None:
    assert index_coverage(opened(case, name).facts).is_complete


def test_version_0_9_makes_one_index_of_a_column_and_its_bytes_are_the_same() -> None:
    table = opened(*MIXED[0])
    pairs = stored_and_made(table, of_its_version(MIXED[0][0], table))
    assert pairs
    for stored, made in pairs:
        assert payloads(made).items() >= payloads(stored).items()
        assert payloads(stored).keys() == {("s", "bloom-filter"), ("i", "bloom-filter"), ("dt", "bitmap")}


def conditions_on(table: Table, field: DataField) -> Iterator[Predicate]:
    """Comparisons with values that files have, and with their neighbours."""
    column = table.scan(columns=[field.name]).to_arrow().column(0).combine_chunks()
    values = sorted({value for value in values_of(column, field.type) if value is not None})
    for value in values[:: max(len(values) // 6, 1)]:
        for op in (CompareOp.EQ, CompareOp.NE, CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE):
            yield Compare(field.name, op, value)
    yield In(field.name, tuple(values[::3]))
    yield Not(In(field.name, tuple(values[::2])))
    yield And((Compare(field.name, CompareOp.GE, values[0]), Compare(field.name, CompareOp.LT, values[-1])))
    yield Or((IsNull(field.name), Compare(field.name, CompareOp.EQ, values[-1])))
    yield Not(IsNull(field.name))


@pytest.mark.parametrize(("case", "name"), [*BITMAPS, *BSI, *RANGE_BITMAPS, MIXED[1]])
def test_each_index_selects_the_rows_of_a_full_scan(case: str, name: str) -> None:
    table = opened(case, name)
    facts = table.facts
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    indexes = FileIndexes(facts.store, facts.schemas, facts.schema)
    indexed = {
        column
        for index_type, columns in facts.options.file_index.columns.items()
        if index_type != "bloom-filter"
        for column in columns
    }
    fields = [field for field in facts.schema.fields if field.name in indexed]
    assert fields
    exact = 0
    for entry in live(table):
        (batch,) = reader.read(entry.partition, entry.bucket, entry.file, facts.schema.fields)
        text = facts.partitions.text(entry.partition)
        for field in fields:
            for predicate in conditions_on(table, field):

                def evaluated(index: FileIndex, predicate: Predicate = predicate) -> object:
                    return index.evaluate(predicate)

                answer = indexes.evaluated(text, entry.bucket, entry.file, evaluated, None)
                mask = matches(predicate, batch, facts.schema.fields).to_pylist()
                expected = [row for row, is_match in enumerate(mask) if is_match]
                assert isinstance(answer, Rows | Skip), (field, predicate)
                assert ([] if isinstance(answer, Skip) else list(answer.positions)) == expected
                exact += isinstance(answer, Skip) or answer.is_exact
    assert exact > 20 or fields[0].type == BooleanType()


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
