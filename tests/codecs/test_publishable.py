"""Metadata is decoded again before it is published; if readers would refuse it, the error names the member."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from table_format.codecs import pretty_json
from table_format.codecs.manifest_avro import decode_manifest, encode_manifest
from table_format.codecs.publishable import (
    checked_manifest,
    consumer_bytes,
    hint_bytes,
    index_manifest_bytes,
    manifest_draft,
    manifest_list_bytes,
    schema_bytes,
    snapshot_bytes,
    statistics_bytes,
    tag_bytes,
)
from table_format.errors import InvalidIdentifier, InvalidInputError
from table_format.model.consumer import ConsumerProgress
from table_format.model.data_file import EMPTY_STATS, SimpleStats
from table_format.model.manifest import (
    HASH,
    FileKind,
    IndexFileMeta,
    IndexManifestEntry,
    ManifestEntry,
    ManifestFileMeta,
)
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.statistics import ColumnStatistics, Statistics
from table_format.model.tag import Tag
from table_format.model.types import ArrayType, DataField, DecimalType, IntType, VarCharType
from tests.support.metastore_table import a_table

LIBRARY: Final = Path(__file__).parents[2] / "table_format"
SNAPSHOT: Final = Snapshot(
    id=1,
    schema_id=0,
    base_manifest_list="manifest-list-a-0",
    delta_manifest_list="manifest-list-b-0",
    commit_user="u",
    commit_identifier=7,
    commit_kind=CommitKind.APPEND,
    time_millis=1_700_000_000_000,
    properties={"a": "b"},
)
SCHEMA: Final = TableSchema(0, (DataField(0, "a", IntType()),), 0, options={"bucket": "1"}, comment="c")
FILE: Final = a_table(primary_keys=("k",)).file()
ENTRY: Final = ManifestEntry(FileKind.ADD, b"\0" * 12, 0, 1, FILE)
MANIFEST: Final = ManifestFileMeta(
    file_name="manifest-a-0",
    file_size=10,
    num_added_files=1,
    num_deleted_files=0,
    partition_stats=EMPTY_STATS,
    schema_id=0,
)
INDEX: Final = IndexManifestEntry(
    FileKind.ADD, b"", 0, IndexFileMeta(index_type=HASH, file_name="index-a-0", file_size=4, row_count=1)
)
HUGE: Final = 10**400


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("commit_identifier", value) for value in ("7", True, 1 << 63, -(1 << 63) - 1, 7.0, None, HUGE)),
        *(("commit_user", value) for value in (5, None, "\ud800", b"u")),
        *(("watermark", value) for value in ("x", 1 << 63, True, 0.5)),
        *(("properties", value) for value in ({1: "a"}, {"a": 1}, {"a": None}, {"a": "\ud800"}, {"a": {"b": "c"}}, 5)),
        *(("time_millis", value) for value in ("now", 1 << 63)),
        *(("id", value) for value in (0, 1 << 63, "1")),
        *(("schema_id", value) for value in ("0", 1 << 64)),
        *(("total_record_count", value) for value in (1 << 63, "1")),
        *(("base_manifest_list", value) for value in ("../a", "", "a/b", None, 5)),
        *(("statistics", value) for value in ("../a", 5)),
        ("commit_kind", "APPENDED"),
        ("version", 4),
        ("log_offsets", {"a": "b"}),
    ],
)
def test_a_snapshot_that_readers_would_refuse_is_not_published(member: str, value: Any):
    with pytest.raises(InvalidInputError, match=r"/t/snapshot/snapshot-1"):
        snapshot_bytes(replace(SNAPSHOT, **{member: value}), path="/t/snapshot/snapshot-1")


def test_the_refusal_names_the_member():
    with pytest.raises(InvalidInputError, match="commitIdentifier"):
        snapshot_bytes(replace(SNAPSHOT, commit_identifier="7"), path="/t/snapshot-1")
    with pytest.raises(InvalidInputError, match="member 'properties'"):
        snapshot_bytes(replace(SNAPSHOT, properties={"a": 1}), path="/t/snapshot-1")
    with pytest.raises(InvalidInputError, match="member 'watermark'"):
        snapshot_bytes(replace(SNAPSHOT, watermark=object()), path="/t/snapshot-1")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("comment", value) for value in (5, "\ud800", ["a"])),
        *(("options", value) for value in ({"a": 1}, {1: "a"}, {"a": None}, {"a": "\ud800"})),
        *(("primary_keys", value) for value in (("b",), ("a", "a"), (1,))),
        *(("highest_field_id", value) for value in ("0", 1 << 63)),
        *(("fields", (DataField(0, "a", value),)) for value in (None, "INT", DecimalType, VarCharType(length=0))),
        ("fields", (DataField(0, "a", ArrayType(None)),)),  # type: ignore[arg-type]
        ("fields", (DataField(0, "a", IntType()), DataField(1, "a", IntType()))),
        ("fields", (DataField(0, "a", IntType()), DataField(0, "b", IntType()))),
        ("fields", (DataField(True, "a", IntType()),)),
        ("fields", (DataField(0, 5, IntType()),)),  # type: ignore[arg-type]
        ("fields", (DataField(0, "\ud800", IntType()),)),
        ("fields", (DataField(0, "a", IntType(), description=5),)),  # type: ignore[arg-type]
        ("fields", (DataField(0, "a", IntType(nullable="x")),)),  # type: ignore[arg-type]
    ],
)
def test_a_schema_that_readers_would_refuse_is_not_published(member: str, value: Any):
    with pytest.raises(InvalidInputError):
        schema_bytes(replace(SCHEMA, **{member: value}), path="/t/schema/schema-0")


def test_a_type_nested_too_deeply_for_readers_is_not_published():
    deep = IntType()
    for _ in range(70):
        deep = ArrayType(deep)
    with pytest.raises(InvalidInputError, match="deeper"):
        schema_bytes(replace(SCHEMA, fields=(DataField(0, "a", deep),)), path="/t/schema/schema-0")


@pytest.mark.parametrize(
    "tag",
    [
        Tag(SNAPSHOT, create_time_ms=0, time_retained_ms=-1),
        Tag(SNAPSHOT, create_time_ms=0, time_retained_ms=1 << 70),
        Tag(SNAPSHOT, create_time_ms=0, time_retained_ms="1"),  # type: ignore[arg-type]
        Tag(SNAPSHOT, create_time_ms=1 << 70, time_retained_ms=1),
        Tag(replace(SNAPSHOT, commit_user=5), None, None),  # type: ignore[arg-type]
    ],
)
def test_a_tag_that_readers_would_refuse_is_not_published(tag: Tag):
    with pytest.raises(InvalidInputError):
        tag_bytes(tag, path="/t/tag/tag-a")


def test_statistics_consumers_and_hints_are_read_back_as_well():
    column = ColumnStatistics(field_id=0, minimum="\ud800")
    for statistics in (
        Statistics(snapshot_id=1, schema_id=0, columns={"a": column}),
        Statistics(snapshot_id=1, schema_id=0, merged_record_count=1 << 63),
        Statistics(snapshot_id=1, schema_id=0, columns={1: ColumnStatistics(field_id=0)}),  # type: ignore[dict-item]
    ):
        with pytest.raises(InvalidInputError):
            statistics_bytes(statistics, path="/t/statistics/stat-a-0")
    for next_snapshot in (True, "1", 1 << 63, 1.0, None):
        with pytest.raises(InvalidInputError):
            consumer_bytes(ConsumerProgress(next_snapshot), path="/t/consumer/consumer-a")  # type: ignore[arg-type]
    for hint in (-1, 0, 10**19, "x", 1.5):
        with pytest.raises(InvalidInputError):
            hint_bytes(hint, path="/t/snapshot/LATEST")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("file_name", value) for value in ("../a", "", "a/b", 5, "\ud800")),
        *(("row_count", value) for value in (-1, 1 << 63, "1", None)),
        *(("level", value) for value in (-1, 1 << 31, 1 << 63)),
        *(("max_sequence_number", value) for value in (1 << 63, -3, (1 << 62) + 1)),
        ("min_sequence_number", 5),
        ("file_source", 2),
        ("delete_row_count", 2),
        ("min_key", "text"),
        ("value_stats", None),
        ("value_stats", SimpleStats(b"", b"", (1 << 63,))),
        ("creation_time", 1 << 63),
        ("extra_files", ("../a",)),
    ],
)
def test_a_manifest_that_readers_would_refuse_is_not_published(member: str, value: Any):
    entries = [replace(ENTRY, file=replace(FILE, **{member: value}))]
    with pytest.raises(InvalidInputError):
        checked_manifest(
            manifest_draft(entries, compression="zstd", file_format="avro", path="/t/manifest/m"),
            entries,
            path="/t/manifest/m",
        )


@pytest.mark.parametrize("member", ["bucket", "total_buckets"])
@pytest.mark.parametrize("value", [-3, 1 << 31, 1 << 63, "0", None])
def test_a_manifest_with_a_bucket_beyond_its_type_is_not_published(member: str, value: Any):
    entries = [replace(ENTRY, **{member: value})]
    with pytest.raises(InvalidInputError):
        checked_manifest(
            manifest_draft(entries, compression="zstd", file_format="avro", path="/t/m"), entries, path="/t/m"
        )


def test_lists_and_index_manifests_are_read_back_as_well():
    for change in ({"file_size": -1}, {"num_added_files": 1 << 63}, {"file_name": "a/b"}, {"schema_id": "0"}):
        with pytest.raises(InvalidInputError):
            manifest_list_bytes([replace(MANIFEST, **change)], compression="zstd", file_format="avro", path="/t/l")  # type: ignore[arg-type]
    for change in ({"file_size": -1}, {"row_count": 1 << 63}, {"file_name": "a/b"}, {"index_type": 5}):
        entry = replace(INDEX, index_file=replace(INDEX.index_file, **change))  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError):
            index_manifest_bytes([entry], compression="zstd", file_format="avro", path="/t/i")


def test_json_above_the_limit_of_readers_is_not_published(monkeypatch: pytest.MonkeyPatch):
    size = len(snapshot_bytes(SNAPSHOT, path="/t/snapshot-1"))
    monkeypatch.setattr(pretty_json, "MAX_JSON_BYTES", size)
    snapshot_bytes(SNAPSHOT, path="/t/snapshot-1")
    with pytest.raises(InvalidInputError, match=f"{size + 1} bytes of JSON; the maximum is {size}"):
        snapshot_bytes(replace(SNAPSHOT, commit_user="uu"), path="/t/snapshot-1")


def test_a_file_name_that_does_not_fit_while_it_is_written_is_refused():
    tag_bytes(Tag(SNAPSHOT), path="/t/tag/tag-" + "a" * 209)
    with pytest.raises(InvalidIdentifier, match="214 bytes; the maximum is 213"):
        tag_bytes(Tag(SNAPSHOT), path="/t/tag/tag-" + "a" * 210)


@pytest.mark.parametrize(("entries", "stats_bytes"), [(4096, 400), (400, 4_000), (1, 3_000_000)])
def test_a_manifest_of_very_similar_entries_can_be_read(entries: int, stats_bytes: int):
    # Columns that are all null: such blocks used to shrink to less than the share of them that readers take.
    stats = SimpleStats(bytes(stats_bytes), bytes(stats_bytes), ())
    alike = [replace(ENTRY, file=replace(FILE, file_name=f"data-{i}.orc", value_stats=stats)) for i in range(entries)]
    assert decode_manifest(encode_manifest(alike), path="m") == alike


def test_only_the_codecs_encode_metadata():
    # What is only shown, and not stored, may be encoded: the system table of schemas.
    shown = {"table/system/schemas.py"}
    found = []
    for source in LIBRARY.rglob("*.py"):
        name = source.relative_to(LIBRARY).as_posix()
        if name.startswith("codecs/") or name in shown:
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("table_format.codecs"):
                found += [f"{name}: {alias.name}" for alias in node.names if alias.name in ENCODERS]
    assert not found


ENCODERS: Final = frozenset(
    {
        "dump_pretty",
        "encode_consumer",
        "encode_hint",
        "encode_index_manifest",
        "encode_manifest",
        "encode_manifest_list",
        "encode_schema",
        "encode_snapshot",
        "encode_statistics",
        "encode_tag",
    }
)
