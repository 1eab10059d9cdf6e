"""Procedures that delete old snapshots, changelogs and tags, and orphan files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.catalog.data_tables import data_tables
from table_format.procedures.arguments import COUNT, DURATION, FLAG, INSTANT, OPTIONS, TEXT, Argument, required
from table_format.procedures.declare import TABLE, Call, Procedure, Row

_DRY_RUN: Final = Argument("dry_run", FLAG, "Only report what would be deleted.", default=False)
_RETAIN_MAX: Final = Argument(
    "retain_max",
    COUNT,
    "Maximum number to keep; the excess is deleted, regardless of its age. If the minimum of the table is higher, pass "
    "retain_min too.",
)
_RETAIN_MIN: Final = Argument("retain_min", COUNT, "Minimum number to keep.")
_OLDER_THAN: Final = Argument("older_than", INSTANT, "Delete only what is older than this time.")
_MAX_DELETES: Final = Argument("max_deletes", COUNT, "Maximum number to delete.")


def _expire_snapshots(call: Call) -> Iterable[Row]:
    report = call.table(options=call["options"]).expire_snapshots(
        dry_run=call["dry_run"],
        retain_max=call["retain_max"],
        retain_min=call["retain_min"],
        older_than_ms=call["older_than"],
        limit=call["max_deletes"],
        retain_floor_ms=call["retain_floor"],
    )
    return [(len(report.snapshot_ids),)]


def _expire_changelogs(call: Call) -> Iterable[Row]:
    report = call.table().expire_changelogs(
        dry_run=call["dry_run"],
        retain_max=call["retain_max"],
        retain_min=call["retain_min"],
        older_than_ms=call["older_than"],
        limit=call["max_deletes"],
        everything=call["delete_all"],
    )
    return [(len(report.changelog_ids),)]


def _expire_tags(call: Call) -> Iterable[Row]:
    return [(name,) for name in call.table().expire_tags(older_than_ms=call["older_than"], dry_run=call["dry_run"])]


def _remove_orphan_files(call: Call) -> Iterable[Row]:
    name = call["table"]
    database = name.removesuffix(".*")
    names = [name] if database == name else [*data_tables(call.catalog, database)]
    reports = [
        call.table(one).remove_orphan_files(
            older_than_ms=call["older_than"], dry_run=call["dry_run"], nobody_else_writes=call["nobody_else_writes"]
        )
        for one in names
    ]
    return [(sum(len(report.files) for report in reports), sum(report.bytes for report in reports))]


EXPIRE_SNAPSHOTS: Final = Procedure(
    "expire_snapshots",
    "Delete old snapshots and the files that only they need, according to the table's options or the arguments.",
    (
        TABLE,
        _RETAIN_MAX,
        _RETAIN_MIN,
        _OLDER_THAN,
        _MAX_DELETES,
        Argument("options", OPTIONS, "Dynamic options of the table."),
        _DRY_RUN,
        Argument(
            "retain_floor",
            DURATION,
            "Nothing younger than this is deleted. Use '0 s' only if there is no other writer.",
        ),
    ),
    _expire_snapshots,
    pa.schema([pa.field("deleted_snapshots_count", pa.int32(), nullable=False)]),
)
EXPIRE_CHANGELOGS: Final = Procedure(
    "expire_changelogs",
    "Delete old long-lived changelogs and the files that only they need.",
    (
        TABLE,
        _RETAIN_MAX,
        _RETAIN_MIN,
        _OLDER_THAN,
        _MAX_DELETES,
        Argument(
            "delete_all",
            FLAG,
            "Delete all of them, even if consumers have not read them; without other bounds.",
            default=False,
        ),
        _DRY_RUN,
    ),
    _expire_changelogs,
    pa.schema([pa.field("deleted_changelogs_count", pa.int32(), nullable=False)]),
)
EXPIRE_TAGS: Final = Procedure(
    "expire_tags",
    "Delete the tags whose retention time has passed, and tags older than a given time.",
    (TABLE, _OLDER_THAN, _DRY_RUN),
    _expire_tags,
    pa.schema([pa.field("expired_tags", pa.string(), nullable=False)]),
)
REMOVE_ORPHAN_FILES: Final = Procedure(
    "remove_orphan_files",
    "Delete files that no snapshot, tag, branch or changelog references.",
    (
        required("table", TEXT, "The table, or database.* for all tables of a database."),
        Argument(
            "older_than", INSTANT, "Delete only files that were last modified before this time; by default one day ago."
        ),
        _DRY_RUN,
        Argument(
            "nobody_else_writes",
            FLAG,
            "Allow older_than to be less than one day ago, which would delete the files of active writers.",
            default=False,
        ),
    ),
    _remove_orphan_files,
    pa.schema([pa.field("deletedFileCount", pa.int64()), pa.field("deletedFileTotalLenInBytes", pa.int64())]),
)
