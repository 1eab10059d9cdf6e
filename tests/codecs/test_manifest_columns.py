"""Entries decoded in columns are those of the general decoder, or are left to it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs import manifest_columns
from table_format.codecs.avro import ContainerSchema, write_container
from table_format.codecs.avro_columns import NotInColumnsError
from table_format.codecs.data_file_avro import data_file_record
from table_format.codecs.manifest_avro import MANIFEST, decode_manifest, encode_manifest
from table_format.codecs.manifest_columns import ManifestColumns, decode_manifest_columns
from table_format.errors import BadEncoding, TableFormatError
from table_format.limits import MAX_INT
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, SimpleStats
from table_format.model.manifest import FileKind, ManifestEntry
from tests.codecs.facts import manifest_entries, some_examples

FILE = DataFileMeta(
    file_name="data-1.parquet",
    file_size=1000,
    row_count=300,
    min_key=EMPTY_ROW,
    max_key=EMPTY_ROW,
    key_stats=EMPTY_STATS,
    value_stats=EMPTY_STATS,
    min_sequence_number=0,
    max_sequence_number=70,
    schema_id=0,
    level=0,
)
ENTRY = ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, FILE)


def in_columns(data: bytes) -> ManifestColumns:
    """The columns, if the fast decoder supports the manifest."""
    return manifest_columns._in_columns(data, MANIFEST, "m", None)


@some_examples
@given(st.lists(manifest_entries, min_size=1, max_size=30), st.sampled_from(["zstd", "snappy", "none"]))
def test_entries_in_columns_are_those_of_the_general_decoder(entries, compression):
    data = encode_manifest(entries, compression=compression)
    columns = in_columns(data)
    assert columns.entries() == decode_manifest(data, path="m") == entries
    assert [columns.partitions[code] for code in columns.partition_codes] == [e.partition for e in entries]
    assert columns.is_added.tolist() == [e.kind is FileKind.ADD for e in entries]
    assert columns.buckets.tolist() == [e.bucket for e in entries]
    assert columns.total_buckets.tolist() == [e.total_buckets for e in entries]
    assert columns.levels.tolist() == [e.file.level for e in entries]
    assert columns.names == tuple(e.file.file_name for e in entries)
    for bounds, name in ((columns.key_bounds, "key_stats"), (columns.value_bounds, "value_stats")):
        for stored, side in ((bounds.minima, "min_values"), (bounds.maxima, "max_values")):
            spans = zip(stored.starts, stored.ends, strict=True)
            assert [stored.content[start:end] for start, end in spans] == [
                getattr(getattr(e.file, name), side) for e in entries
            ]


@some_examples
@given(st.lists(manifest_entries, min_size=1, max_size=8), st.data())
def test_only_requested_entries_are_built_and_each_only_once(entries, data):
    columns = in_columns(encode_manifest(entries))
    rows = data.draw(st.lists(st.integers(0, len(entries) - 1)))
    wanted = columns.entries(np.array(rows, np.int64))
    assert wanted == [entries[row] for row in rows]
    assert all(entry is columns.entries()[row] for entry, row in zip(wanted, rows, strict=True))


def test_bytes_that_look_like_the_start_of_an_entry_are_not_decoded_as_one():
    # The values of statistics are full of beginnings, and of whole entries.
    inner = encode_manifest([ENTRY], compression="none")
    stats = SimpleStats(b"\4\0" * 40 + inner[-200:], b"\4\2\4\0" * 30, (0, None, 5))
    entries = [replace(ENTRY, file=replace(FILE, file_name=f"f{i}", value_stats=stats)) for i in range(50)]
    assert in_columns(encode_manifest(entries)).entries() == entries


def test_a_manifest_of_several_blocks_is_one():
    entries = [replace(ENTRY, file=replace(FILE, file_name=f"f{i}", row_count=i)) for i in range(9000)]
    columns = in_columns(encode_manifest(entries))
    assert len(columns) == 9000
    assert columns.entries(np.array([0, 4096, 8999])) == [entries[0], entries[4096], entries[8999]]


def test_a_manifest_without_entries_has_none():
    assert decode_manifest_columns(encode_manifest([]), path="m").entries() == []


def with_fields(change) -> bytes:
    """A manifest of one entry with a changed schema."""
    schema = json.loads(MANIFEST.text)
    change(schema["fields"], schema["fields"][-1]["type"]["fields"])
    fields = {field["name"] for field in schema["fields"][-1]["type"]["fields"]}
    record = {
        "_VERSION": 2,
        "_KIND": 0,
        "_PARTITION": EMPTY_ROW,
        "_BUCKET": 3,
        "_TOTAL_BUCKETS": 4,
        "_FILE": {name: value for name, value in data_file_record(FILE).items() if name in fields} | {"_MORE": "x"},
    }
    return write_container(ContainerSchema.of(schema), [record], compression="zstd")


def test_an_older_release_has_fewer_fields():
    def older(_fields, file):
        del file[-3:]

    data = with_fields(older)
    assert in_columns(data).entries() == decode_manifest(data, path="m") == [replace(ENTRY, bucket=3, total_buckets=4)]


def test_fields_in_another_order_are_found_by_their_names():
    def other(_fields, file):
        file.reverse()

    data = with_fields(other)
    assert in_columns(data).entries() == decode_manifest(data, path="m")


def test_fields_of_newer_releases_are_left_to_the_general_decoder():
    def newer(_fields, file):
        file.append({"name": "_MORE", "type": "string"})

    data = with_fields(newer)
    with pytest.raises(NotInColumnsError):
        in_columns(data)
    assert decode_manifest_columns(data, path="m").entries() == [replace(ENTRY, bucket=3, total_buckets=4)]


@pytest.mark.parametrize(
    "entry",
    [
        replace(ENTRY, bucket=-3),
        replace(ENTRY, total_buckets=MAX_INT + 1),
        replace(ENTRY, file=replace(FILE, file_name="../f")),
        replace(ENTRY, file=replace(FILE, file_name="")),
        replace(ENTRY, file=replace(FILE, extra_files=("a/b",))),
        replace(ENTRY, file=replace(FILE, row_count=-1)),
        replace(ENTRY, file=replace(FILE, level=-1)),
        replace(ENTRY, file=replace(FILE, delete_row_count=301)),
        replace(ENTRY, file=replace(FILE, min_sequence_number=72)),
        replace(ENTRY, file=replace(FILE, first_row_id=-1)),
    ],
)
def test_an_invalid_entry_is_refused_as_by_the_general_decoder(entry):
    data = encode_manifest([ENTRY, entry])
    with pytest.raises(BadEncoding) as general:
        decode_manifest(data, path="m")
    with pytest.raises(BadEncoding) as found:
        decode_manifest_columns(data, path="m")
    assert str(found.value) == str(general.value)


@some_examples
@given(st.lists(manifest_entries, min_size=1, max_size=3), st.data())
def test_damaged_bytes_are_read_or_refused_as_by_the_general_decoder(entries, data):
    content = bytearray(encode_manifest(entries, compression="none"))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(content[: data.draw(st.integers(0, len(content)))]) if data.draw(st.booleans()) else bytes(content)

    def outcome(decode):
        try:
            return decode(damaged, path="m")
        except TableFormatError as error:
            return type(error), str(error)

    assert outcome(lambda d, path: decode_manifest_columns(d, path=path).entries()) == outcome(decode_manifest)


def test_few_entries_are_decoded_one_by_one():
    data = encode_manifest([ENTRY])
    assert decode_manifest_columns(data, path="m", entries=1).key_bounds is None
    assert decode_manifest_columns(data, path="m", entries=1).entries() == [ENTRY]


def test_columns_of_entries_are_those_of_their_manifest():
    entries = [ENTRY, replace(ENTRY, kind=FileKind.DELETE, partition=b"p", bucket=2, file=replace(FILE, level=3))]
    made, read = ManifestColumns.of(entries), in_columns(encode_manifest(entries))
    assert made.entries() == read.entries()
    for name in ("is_added", "partition_codes", "buckets", "total_buckets", "levels", "schema_ids"):
        assert getattr(made, name).tolist() == getattr(read, name).tolist()
    assert (made.partitions, made.names) == (read.partitions, read.names)
