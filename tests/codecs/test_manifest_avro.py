"""Manifests, manifest lists and index manifests: of every release, of every format, and our own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs.manifest_avro import (
    decode_index_manifest,
    decode_manifest,
    decode_manifest_list,
    encode_index_manifest,
    encode_manifest,
    encode_manifest_list,
)
from table_format.errors import BadEncoding, CorruptionError, LimitExceeded, UnsupportedFeature
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource
from table_format.model.manifest import (
    DeletionVectorRange,
    FileKind,
    IndexFileMeta,
    IndexManifestEntry,
    ManifestEntry,
    ManifestFileMeta,
)
from tests.codecs.facts import index_files, manifest_entries, manifest_files, some_examples
from tests.support.golden import golden_case

# Releases 0.9.0, 1.3.1, 1.4.2 and 1.0, codecs, Parquet, ORC, a union as root, deletion vectors, hash indexes, row ids.
CASES = (
    "append_row_tracking",
    "append_unaware__1.3.1",
    "file_options",
    "file_options__1.4.2",
    "pk_aggregation_count",
    "pk_deletion_vectors",
    "pk_deletion_vectors__1.4.2",
    "pk_dynamic_bucket",
    "spark_dml",
    "stats_modes__1.4.2",
)

FILE = DataFileMeta(
    file_name="data-1.parquet",
    file_size=10,
    row_count=3,
    min_key=EMPTY_ROW,
    max_key=EMPTY_ROW,
    key_stats=EMPTY_STATS,
    value_stats=EMPTY_STATS,
    min_sequence_number=0,
    max_sequence_number=2,
    schema_id=0,
    level=0,
    creation_time=1_700_000_000_000,
    delete_row_count=0,
    file_source=FileSource.APPEND,
)
ENTRY = ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, -1, FILE)
UNCOMPRESSED = encode_manifest([ENTRY], compression="null")


def codec_of(file: Path) -> tuple[Callable, Callable]:
    if file.name.startswith("manifest-list-"):
        return decode_manifest_list, encode_manifest_list
    if file.name.startswith("index-manifest-"):
        return decode_index_manifest, encode_index_manifest
    return decode_manifest, encode_manifest


def manifest_files_of(case: str) -> list[Path]:
    return sorted(golden_case(case).warehouse.glob("**/manifest/*"))


@pytest.mark.parametrize("case", CASES)
def test_manifests_of_paimon_are_read_and_written_again(case):
    files = manifest_files_of(case)
    assert files
    for file in files:
        decode, encode = codec_of(file)
        facts = decode(file.read_bytes(), path=str(file))
        assert decode(encode(facts), path="f") == facts


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_manifests_are_written_in_parquet_and_orc(file_format: str, compression: str) -> None:
    files = [*manifest_files_of("pk_deletion_vectors"), *manifest_files_of("file_options")[:20]]
    assert {codec_of(file) for file in files} == {codec_of(Path(f"{kind}manifest-1")) for kind in ("", "index-")} | {
        codec_of(Path("manifest-list-1"))
    }
    for file in files:
        decode, encode = codec_of(file)
        facts = decode(file.read_bytes(), path=str(file))
        data = encode(facts, file_format=file_format, compression=compression)
        assert data.startswith(b"PAR1" if file_format == "parquet" else b"ORC")
        assert decode(data, path="f") == facts
    assert decode_manifest_list(encode_manifest_list([], file_format=file_format), path="f") == []


@pytest.mark.parametrize("case", CASES)
def test_the_manifests_of_a_snapshot_are_those_the_system_table_shows(case):
    for table in golden_case(case).tables.values():
        shown = table.get("system_tables", {}).get("manifests", {})
        if "rows" not in shown or "{warehouse}" in table["location"]:
            continue
        directory = golden_case(case).warehouse.parent / table["location"] / "manifest"
        known = {
            meta.file_name: meta
            for file in directory.glob("manifest-list-*")
            for meta in decode_manifest_list(file.read_bytes(), path=str(file))
        }
        for row in shown["rows"]:
            named = dict(zip(shown["columns"], row, strict=True))
            meta = known[named["file_name"]]
            assert meta.file_size == named["file_size"] == (directory / meta.file_name).stat().st_size
            assert (meta.num_added_files, meta.num_deleted_files) == (
                named["num_added_files"],
                named["num_deleted_files"],
            )
            entries = decode_manifest((directory / meta.file_name).read_bytes(), path=meta.file_name)
            kinds = [entry.kind for entry in entries]
            assert (kinds.count(FileKind.ADD), kinds.count(FileKind.DELETE)) == (
                meta.num_added_files,
                meta.num_deleted_files,
            )


def test_parquet_and_orc_manifests_hold_the_same_facts_as_avro():
    by_format: dict[bytes, list[tuple[int, ...]]] = {}
    for name in ("manifest_orc", "manifest_parquet", "manifest_snappy"):
        for file in sorted((golden_case("file_options").warehouse / "db.db" / name / "manifest").glob("manifest-*")):
            if "list" in file.name:
                continue
            data = file.read_bytes()
            for entry in decode_manifest(data, path=str(file)):
                created = entry.file.creation_time
                assert created is not None
                assert 1_700_000_000_000 < created < 1_900_000_000_000
                by_format.setdefault(data[:3], []).append((entry.kind, entry.file.level, entry.file.delete_row_count))
    assert set(by_format) == {b"ORC", b"PAR", b"Obj"}
    assert len({tuple(sorted(facts)) for facts in by_format.values()}) == 1


@given(st.lists(manifest_entries, max_size=3))
@some_examples
def test_manifest_entries_written_are_those_read(entries):
    assert decode_manifest(encode_manifest(entries), path="f") == entries


@given(st.lists(manifest_files, max_size=3))
@some_examples
def test_manifest_lists_written_are_those_read(manifests):
    assert decode_manifest_list(encode_manifest_list(manifests), path="f") == manifests


@given(
    st.lists(
        st.builds(
            IndexManifestEntry, st.sampled_from(FileKind), st.binary(max_size=12), st.integers(0, 9), index_files
        ),
        max_size=3,
    )
)
@some_examples
def test_index_manifests_written_are_those_read(entries):
    assert decode_index_manifest(encode_index_manifest(entries), path="f") == entries


@pytest.mark.parametrize("compression", ["zstd", "snappy", "deflate", "null"])
def test_every_compression_of_the_option_is_written(compression):
    data = encode_manifest([ENTRY], compression=compression)
    assert decode_manifest(data, path="f") == [ENTRY]
    assert fastavro.reader(io.BytesIO(data)).metadata["avro.codec"] == {"zstd": "zstandard"}.get(
        compression, compression
    )


def test_an_unknown_compression_is_refused():
    with pytest.raises(UnsupportedFeature, match="compression 'brotli'"):
        encode_manifest([ENTRY], compression="brotli")


def test_an_empty_manifest_list_is_a_header():
    data = encode_manifest_list([])
    assert decode_manifest_list(data, path="f") == []
    assert data.startswith(b"Obj\x01")


@pytest.mark.parametrize(
    ("case", "pattern", "decode", "written"),
    [
        ("append_unaware__1.4.2", "manifest-[0-9a-f]*", decode_manifest, encode_manifest([])),
        ("append_unaware__1.4.2", "manifest-list-*", decode_manifest_list, encode_manifest_list([])),
        ("append_unaware__1.3.1", "manifest-[0-9a-f]*", decode_manifest, encode_manifest([])),
    ],
)
def test_our_schema_is_literally_that_of_paimon(case, pattern, decode, written):
    files = [f for f in manifest_files_of(case) if f.match(pattern)]
    theirs = {fastavro.reader(io.BytesIO(f.read_bytes())).metadata["avro.schema"] for f in files}
    assert theirs == {fastavro.reader(io.BytesIO(written)).metadata["avro.schema"]}


def rewritten(data: bytes, change: Callable[[dict, list[dict]], None]) -> bytes:
    """The same uncompressed file after its schema and records were changed."""
    reader = fastavro.reader(io.BytesIO(data))
    records = list(reader)
    schema = json.loads(reader.metadata["avro.schema"])
    change(schema, records)
    out = io.BytesIO()
    fastavro.writer(out, schema, records)
    return out.getvalue()


def file_fields(schema: dict) -> list[dict]:
    return next(f for f in schema["fields"] if f["name"] == "_FILE")["type"]["fields"]


def test_a_manifest_of_release_09_lacks_the_newest_fields():
    def cut(schema: dict, _: list[dict]) -> None:
        del file_fields(schema)[16:]

    assert decode_manifest(rewritten(UNCOMPRESSED, cut), path="f") == [ENTRY]


def test_fields_of_later_releases_are_skipped():
    def extend(schema: dict, records: list[dict]) -> None:
        later = {"name": "_WRITE_COLS_SEQUENCES", "type": ["null", {"type": "array", "items": "long"}]}
        file_fields(schema).append(later)
        schema["fields"].insert(1, {"name": "_NEW", "type": "string"})
        records[0]["_NEW"] = "x"
        records[0]["_FILE"]["_WRITE_COLS_SEQUENCES"] = [1, 2]

    assert decode_manifest(rewritten(UNCOMPRESSED, extend), path="f") == [ENTRY]


def test_null_items_of_deletion_vector_ranges_are_skipped():
    def add_nulls(_: dict, records: list[dict]) -> None:
        records[0]["_DELETIONS_VECTORS_RANGES"] = [None, {"f0": "d", "f1": 1, "f2": 2, "_CARDINALITY": None}, None]

    file = IndexFileMeta(index_type="DELETION_VECTORS", file_name="i", file_size=9, row_count=1)
    data = encode_index_manifest([IndexManifestEntry(FileKind.ADD, EMPTY_ROW, 0, file)], compression="null")
    (entry,) = decode_index_manifest(rewritten(data, add_nulls), path="f")
    assert entry.index_file.deletion_vector_ranges == (DeletionVectorRange("d", 1, 2),)


def _set(records: list[dict], field: str, value: object) -> None:
    (records[0] if field in records[0] else records[0]["_FILE"])[field] = value


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("_VERSION", 3, "expected entries of version 2, found version 3"),
        ("_KIND", 2, "expected entries of kind 0 or 1, found 2"),
        ("_FILE_NAME", "../../x", "expected a file name without directory"),
        ("_EXTRA_FILES", ["a/b"], "expected a file name without directory"),
        ("_FILE_SIZE", -1, "data file 'data-1.parquet': expected numbers of 0 or more"),
        ("_ROW_COUNT", -1, "expected numbers of 0 or more"),
        ("_LEVEL", -1, "expected numbers of 0 or more"),
        ("_FILE_SOURCE", 7, "a file source of 0 or 1"),
    ],
)
def test_values_that_no_manifest_has_are_refused(field, value, message):
    data = rewritten(UNCOMPRESSED, lambda _, records: _set(records, field, value))
    with pytest.raises(BadEncoding, match=f"^f: .*{message}"):
        decode_manifest(data, path="f")


def test_a_null_record_is_refused():
    def make_null(schema: dict, records: list[dict]) -> None:
        for field in schema["fields"]:
            if field["name"] == "_FILE":
                field["type"] = ["null", field["type"]]
        records[0]["_FILE"] = None

    with pytest.raises(BadEncoding, match="f: expected a data file, found null"):
        decode_manifest(rewritten(UNCOMPRESSED, make_null), path="f")


@pytest.mark.parametrize(
    ("name", "avro_type", "message"),
    [
        ("_SCHEMA_ID", "string", "field '_SCHEMA_ID': expected the type long, found string"),
        ("_EXTRA_FILES", {"type": "array", "items": "long"}, "an item of field '_EXTRA_FILES': expected the type"),
        ("_FILE_SOURCE", ["null", "string"], "field '_FILE_SOURCE': expected the type int, found string"),
    ],
)
def test_a_field_of_another_type_is_refused(name, avro_type, message):
    def retype(schema: dict, records: list[dict]) -> None:
        next(f for f in file_fields(schema) if f["name"] == name)["type"] = avro_type
        records.clear()

    with pytest.raises(BadEncoding, match=message):
        decode_manifest(rewritten(UNCOMPRESSED, retype), path="f")


def test_a_missing_field_and_a_damaged_field_name_are_refused():
    def drop(schema: dict, _: list[dict]) -> None:
        del file_fields(schema)[9]

    with pytest.raises(BadEncoding, match="lacks the field '_SCHEMA_ID'"):
        decode_manifest(rewritten(UNCOMPRESSED, drop), path="f")
    damaged = encode_manifest([ENTRY]).replace(b"_DELETE_ROW_COUNT", b"_DELETE_ROW_CGUNT")
    with pytest.raises(BadEncoding, match="'_DELETE_ROW_COUNT' is missing, but there is a field '_DELETE_ROW_CGUNT'"):
        decode_manifest(damaged, path="f")


def test_any_flipped_bit_in_our_manifest_is_detected_or_harmless():
    data = encode_manifest([ENTRY] * 3)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        try:
            found = decode_manifest(bytes(damaged), path="f")
        except (CorruptionError, UnsupportedFeature):
            continue
        assert found == [ENTRY] * 3


@pytest.mark.parametrize("data", [b"PAR1" + bytes(50), b"ORC" + bytes(50), b"PAR1", b"ORC"])
def test_damaged_columnar_manifests_are_refused(data):
    with pytest.raises(BadEncoding, match=r"^f: expected a manifest as Parquet or ORC"):
        decode_manifest(data, path="f")


def test_a_parquet_file_that_is_not_a_manifest_is_refused():
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"_VERSION": pa.array([2], pa.int32())}), out)
    with pytest.raises(BadEncoding, match="the columns are not those of a manifest"):
        decode_manifest(out.getvalue(), path="f")
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"_VERSION": pa.array([2] * 1_000_000, pa.int32())}), out)
    with pytest.raises(LimitExceeded, match="declares 1000000 entries"):
        decode_manifest(out.getvalue(), path="f")


def test_a_small_manifest_list_does_not_make_millions_of_entries():
    entry = ManifestFileMeta(
        file_name="manifest-a",
        file_size=1,
        num_added_files=1,
        num_deleted_files=0,
        partition_stats=EMPTY_STATS,
        schema_id=0,
    )
    data = encode_manifest_list([entry] * 20_000)
    assert len(data) < 4_000
    with pytest.raises(LimitExceeded, match="entries, found 20000"):
        decode_manifest_list(data, path="f")


def test_a_manifest_holds_no_more_entries_than_its_list_announces():
    data = encode_manifest([ENTRY] * 6)
    assert len(decode_manifest(data, path="f", entries=6)) == 6
    with pytest.raises(LimitExceeded, match="expected at most 5 entries, found 6"):
        decode_manifest(data, path="f", entries=5)
