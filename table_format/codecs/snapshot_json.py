"""Snapshot files, ``snapshot/snapshot-<id>`` (format chapter 03, section 1; Java ``org.apache.paimon.Snapshot``).

Written files can be read by 0.9 and later: ``logOffsets`` and ``changelogManifestList`` are always written, newer
members only if they have a value. Unknown members are ignored.
"""

from __future__ import annotations

from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.errors import BadEncoding, UnsupportedFeature
from table_format.model.snapshot import CURRENT_SNAPSHOT_VERSION, FIRST_SNAPSHOT_ID, CommitKind, Snapshot

_ALWAYS: Final = frozenset({"changelogManifestList", "totalRecordCount", "deltaRecordCount"})
"""Members that are written as ``null`` if they have no value, because readers of 0.9 expect the keys."""


_MEMBERS: Final = frozenset(
    """
    version uuid id schemaId baseManifestList baseManifestListSize deltaManifestList deltaManifestListSize
    changelogManifestList changelogManifestListSize indexManifest commitUser writerVersion commitIdentifier commitKind
    timeMillis logOffsets totalRecordCount deltaRecordCount changelogRecordCount watermark statistics properties
    nextRowId operation tagCreateTime tagTimeRetained
    """.split()  # noqa: SIM905 - a list of 27 lines is not clearer
)


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the content of a snapshot file."""
    return dump_pretty(snapshot_members(snapshot))


def snapshot_members(snapshot: Snapshot) -> dict[str, object]:
    """Return the members of the JSON object, in file order."""
    s = snapshot
    members: dict[str, object] = {
        "version": s.version,
        "uuid": s.uuid,
        "id": s.id,
        "schemaId": s.schema_id,
        "baseManifestList": s.base_manifest_list,
        "baseManifestListSize": s.base_manifest_list_size,
        "deltaManifestList": s.delta_manifest_list,
        "deltaManifestListSize": s.delta_manifest_list_size,
        "changelogManifestList": s.changelog_manifest_list,
        "changelogManifestListSize": s.changelog_manifest_list_size,
        "indexManifest": s.index_manifest,
        "commitUser": s.commit_user,
        "writerVersion": s.writer_version,
        "commitIdentifier": s.commit_identifier,
        "commitKind": s.commit_kind.value,
        "timeMillis": s.time_millis,
        "logOffsets": s.log_offsets,
        "totalRecordCount": s.total_record_count,
        "deltaRecordCount": s.delta_record_count,
        "changelogRecordCount": s.changelog_record_count,
        "watermark": s.watermark,
        "statistics": s.statistics,
        "properties": s.properties or None,
        "nextRowId": s.next_row_id,
        "operation": s.operation,
    }
    return {key: value for key, value in members.items() if value is not None or key in _ALWAYS}


def decode_snapshot(data: bytes, *, path: str) -> Snapshot:
    """Return the snapshot in the file of a snapshot, a long-lived changelog or a tag.

    Raises:
        BadEncoding: the file is not a snapshot.
        LimitExceeded: the file is larger than any valid one.
        UnsupportedFeature: the snapshot has a version of a newer release.
    """
    return snapshot_of(JsonMembers(path, load_json(data, path=path)))


def snapshot_of(members: JsonMembers) -> Snapshot:
    """Return the snapshot that these members describe; raises the same errors as ``decode_snapshot``."""
    m = members
    m.refuse_damaged_names(_MEMBERS)
    version = m.integer("version", default=1)
    if version > CURRENT_SNAPSHOT_VERSION:
        feature = f"snapshot version {version}"
        message = f"{m.path}: {feature} is not supported; the highest supported version is {CURRENT_SNAPSHOT_VERSION}"
        raise UnsupportedFeature(feature, message)
    identifier = m.integer("id")
    if identifier < FIRST_SNAPSHOT_ID:
        message = f"member 'id': expected {FIRST_SNAPSHOT_ID} or more, found {identifier}"
        raise BadEncoding(m.path, message)
    return Snapshot(
        version=version,
        uuid=m.optional_text("uuid"),
        id=identifier,
        schema_id=m.integer("schemaId"),
        base_manifest_list=m.file_name("baseManifestList"),
        base_manifest_list_size=m.optional_integer("baseManifestListSize"),
        delta_manifest_list=m.file_name("deltaManifestList"),
        delta_manifest_list_size=m.optional_integer("deltaManifestListSize"),
        changelog_manifest_list=m.optional_file_name("changelogManifestList"),
        changelog_manifest_list_size=m.optional_integer("changelogManifestListSize"),
        index_manifest=m.optional_file_name("indexManifest"),
        commit_user=m.text("commitUser"),
        writer_version=m.optional_text("writerVersion"),
        commit_identifier=m.integer("commitIdentifier"),
        commit_kind=_commit_kind(m),
        time_millis=m.integer("timeMillis"),
        log_offsets=_log_offsets(m),
        total_record_count=m.optional_integer("totalRecordCount"),
        delta_record_count=m.optional_integer("deltaRecordCount"),
        changelog_record_count=m.optional_integer("changelogRecordCount"),
        watermark=m.optional_integer("watermark"),
        statistics=m.optional_file_name("statistics"),
        properties=m.text_map("properties"),
        next_row_id=m.optional_integer("nextRowId"),
        operation=m.optional_text("operation"),
    )


def _commit_kind(members: JsonMembers) -> CommitKind:
    text = members.text("commitKind")
    if text not in CommitKind.__members__:
        message = f"member 'commitKind': expected one of {', '.join(CommitKind)}, found {text[:100]!r}"
        raise BadEncoding(members.path, message)
    return CommitKind(text)


def _log_offsets(members: JsonMembers) -> dict[int, int]:
    offsets = members.text_map("logOffsets")
    try:
        return {int(partition): int(offset) for partition, offset in offsets.items()}
    except ValueError as e:
        message = f"member 'logOffsets': expected integers, found {str(offsets)[:100]}"
        raise BadEncoding(members.path, message) from e
