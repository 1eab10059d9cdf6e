"""Snapshot and tag files: bytes of Apache Paimon, other releases, and files that are not snapshots."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from table_format.codecs.snapshot_json import decode_snapshot, encode_snapshot
from table_format.codecs.tag_json import decode_tag, encode_tag
from table_format.errors import BadEncoding, UnsupportedFeature
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.tag import Tag
from tests.support.golden import golden_case

CASES = ("pk_deduplicate", "pk_deduplicate__1.3.1", "pk_deletion_vectors", "streaming_commits", "spark_statistics")
NEWER_CASES = ("pk_deduplicate__1.4.2", "pk_changelog__1.4.2", "streaming_commits__1.4.2")

SNAPSHOT = Snapshot(
    id=4,
    schema_id=0,
    base_manifest_list="manifest-list-a-0",
    delta_manifest_list="manifest-list-a-1",
    commit_user="u",
    commit_identifier=9_223_372_036_854_775_807,
    commit_kind=CommitKind.COMPACT,
    time_millis=1_795_187_069_578,
    total_record_count=2,
    delta_record_count=-2,
)
SMALL = """{
  "version" : 3,
  "id" : 4,
  "schemaId" : 0,
  "baseManifestList" : "manifest-list-a-0",
  "deltaManifestList" : "manifest-list-a-1",
  "changelogManifestList" : null,
  "commitUser" : "u",
  "commitIdentifier" : 9223372036854775807,
  "commitKind" : "COMPACT",
  "timeMillis" : 1795187069578,
  "logOffsets" : { },
  "totalRecordCount" : 2,
  "deltaRecordCount" : -2,
  "changelogRecordCount" : 0
}"""


def decode(**changes: object) -> Snapshot:
    members = {key: value for key, value in (json.loads(SMALL) | changes).items() if value is not ...}
    return decode_snapshot(json.dumps(members).encode(), path="snapshot-4")


def test_a_snapshot_is_written_as_release_09_writes_it():
    assert encode_snapshot(SNAPSHOT).decode() == SMALL
    assert decode_snapshot(SMALL.encode(), path="f") == SNAPSHOT


@pytest.mark.parametrize("case", CASES)
def test_a_snapshot_of_paimon_is_written_again_byte_for_byte(case):
    files = sorted(golden_case(case).warehouse.glob("**/snapshot/snapshot-*"))
    assert files
    for file in files:
        data = file.read_bytes()
        assert encode_snapshot(decode_snapshot(data, path=str(file))) == data


@pytest.mark.parametrize("case", NEWER_CASES)
def test_a_snapshot_of_newer_releases_gains_the_members_old_readers_need(case):
    for file in golden_case(case).warehouse.glob("**/snapshot/snapshot-*"):
        original = json.loads(file.read_bytes())
        written = json.loads(encode_snapshot(decode_snapshot(file.read_bytes(), path=str(file))))
        assert written == {"changelogManifestList": None, "logOffsets": {}} | original


def test_every_member_is_written_and_read():
    full = replace(
        SNAPSHOT,
        base_manifest_list_size=1,
        delta_manifest_list_size=2,
        changelog_manifest_list="c",
        changelog_manifest_list_size=3,
        index_manifest="i",
        log_offsets={0: 7},
        changelog_record_count=9,
        watermark=-(1 << 63),
        statistics="s",
        properties={"a": "b"},
        next_row_id=10,
        uuid="uu",
        writer_version="w",
        operation="WRITE",
    )
    data = encode_snapshot(full)
    assert decode_snapshot(data, path="f") == full
    assert list(json.loads(data)) == [
        *("version", "uuid", "id", "schemaId", "baseManifestList", "baseManifestListSize", "deltaManifestList"),
        *("deltaManifestListSize", "changelogManifestList", "changelogManifestListSize", "indexManifest"),
        *("commitUser", "writerVersion", "commitIdentifier", "commitKind", "timeMillis", "logOffsets"),
        *("totalRecordCount", "deltaRecordCount", "changelogRecordCount", "watermark", "statistics", "properties"),
        *("nextRowId", "operation"),
    ]


def test_a_snapshot_of_the_first_version_has_no_counts():
    old = decode(version=..., totalRecordCount=..., deltaRecordCount=None, changelogRecordCount=..., logOffsets=...)
    assert (old.version, old.total_record_count, old.delta_record_count) == (1, None, None)
    assert old.changelog_record_count is None


def test_unknown_members_are_ignored():
    assert decode(later={"a": [1]}) == SNAPSHOT


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": 0}, "member 'id': expected 1 or more, found 0"),
        ({"commitKind": "MERGE"}, "member 'commitKind': expected one of APPEND"),
        ({"commitUser": ...}, "member 'commitUser': expected a text, found nothing"),
        ({"baseManifestList": "../x"}, "member 'baseManifestList': expected a file name without directory"),
        ({"deltaManifestList": ""}, "member 'deltaManifestList'"),
        ({"indexManifest": "a\\b"}, "member 'indexManifest'"),
        ({"statistics": ".."}, "member 'statistics'"),
        ({"timeMillis": 1.5}, "member 'timeMillis'"),
        ({"totalRecordCount": True}, "member 'totalRecordCount'"),
        ({"logOffsets": {"a": 1}}, "member 'logOffsets': expected integers"),
        ({"properties": [1]}, "member 'properties'"),
    ],
)
def test_a_file_that_is_not_a_snapshot_is_refused_by_path_and_member(changes, message):
    with pytest.raises(BadEncoding, match=f"^snapshot-4: {message}"):
        decode(**changes)


def test_a_newer_version_is_unsupported():
    with pytest.raises(UnsupportedFeature, match="snapshot-4: snapshot version 4"):
        decode(version=4)


def test_every_truncation_is_refused():
    for end in range(len(SMALL)):
        with pytest.raises(BadEncoding):
            decode_snapshot(SMALL[:end].encode(), path="f")


def test_a_tag_without_an_end_is_a_snapshot_file():
    assert encode_tag(Tag(SNAPSHOT)).decode() == SMALL
    assert decode_tag(SMALL.encode(), path="f") == Tag(SNAPSHOT)


@pytest.mark.parametrize(
    ("create_time_ms", "parts"),
    [
        (0, "[ 1970, 1, 1, 0, 0 ]"),
        (1_704_164_645_000, "[ 2024, 1, 2, 3, 4, 5 ]"),
        (1_704_164_640_007, "[ 2024, 1, 2, 3, 4, 0, 7000000 ]"),
        (-1, "[ 1969, 12, 31, 23, 59, 59, 999000000 ]"),
    ],
)
def test_times_of_a_tag_have_the_form_of_jackson(create_time_ms, parts):
    tag = Tag(SNAPSHOT, create_time_ms, 5 * 86_400_000 + 1)
    data = encode_tag(tag)
    assert data.decode() == SMALL[:-2] + f',\n  "tagCreateTime" : {parts},\n  "tagTimeRetained" : 432000.001000000\n}}'
    assert decode_tag(data, path="f") == tag


def test_a_tag_of_paimon_is_read():
    files = sorted(golden_case("spark_procedures").warehouse.glob("**/tag/tag-*"))
    tags = [decode_tag(file.read_bytes(), path=str(file)) for file in files]
    assert any(tag.time_retained_ms for tag in tags)
    assert all(tag.snapshot.id >= 1 for tag in tags)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("tagCreateTime", [2024]),
        ("tagCreateTime", [2024, 13, 1, 0, 0]),
        ("tagCreateTime", [2024, 1, 1, 0, 0, 0, 10**9]),
        ("tagCreateTime", [2024, 1, 1, 0, 0, 0, 0, 0]),
        ("tagCreateTime", [2024, 1, 1, 0, "0"]),
        ("tagCreateTime", "2024-01-01"),
        ("tagTimeRetained", "5 d"),
        ("tagTimeRetained", -1),
        ("tagTimeRetained", 1 << 60),
    ],
)
def test_invalid_times_of_a_tag_are_refused(member, value):
    data = json.dumps(json.loads(SMALL) | {member: value}).encode()
    with pytest.raises(BadEncoding, match=f"f: member '{member}'"):
        decode_tag(data, path="f")
