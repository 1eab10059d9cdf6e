"""System tables as this library shows them against what a version of Paimon shows.

What differs by design is made equal here, and nothing else: later versions added columns at the end; 0.8 and 0.9 show
file names where later ones show paths, and branches with the tag they were made from; versions from 1.0 on show
partitions as ``{2024-01-01}`` or ``dt=2024-01-01``, this library as 0.9 does, ``[19723]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from table_format.options.merge import MergeEngine
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from tests.support.json_rows import json_rows, rows_with_floats
from tests.support.partition_texts import as_braces, as_path

MODIFIED = "<mtime>"
"""Stands for a time that comes from the file system."""


def is_old(version: str) -> bool:
    """Whether it is a version before 1.0."""
    return version.startswith("0.")


def differences(version: str, table: SystemTable, title: str, expected: dict[str, Any]) -> Iterator[str]:
    """What our ``columns``, ``types`` and ``rows`` lack or have too much."""
    columns, types, rows = expected["columns"], expected["types"], expected["rows"]
    if title == "branches" and is_old(version):
        columns, types = [columns[0], columns[-1]], [types[0], types[-1]]
        rows = [[row[0], row[-1]] for row in rows]
    fields = table.fields[: len(columns)]
    if [f.name for f in fields] != columns:
        yield f"columns {[f.name for f in fields]}, expected {columns}"
        return
    if [str(f.type) for f in fields] != types:
        yield f"types {[str(f.type) for f in fields]}, expected {types}"
    ours = json_rows(table.scan(columns).to_arrow(), fields)
    if isinstance(table.table, Table):
        ours = [dict(zip(columns, row, strict=True)) for row in ours]
        if title == "files" and is_old(version) and table.table.options.merge.engine is MergeEngine.FIRST_ROW:
            ours = [row for row in ours if row["level"] > 0]  # 0.9 hid what a first-row table does not read
        ours = [list(_in_form_of(version, table.table, title, row).values()) for row in ours]
    theirs = [list(row) for row in rows]
    for row in (*ours, *theirs):
        _normalise(title, dict(zip(columns, range(len(columns)), strict=True)), row)
    if title in ("files", "file_key_ranges"):
        _show_bytes({row[2]: row for row in ours}, theirs)
    theirs = rows_with_floats(theirs, fields)
    missing = [row for row in theirs if row not in ours]
    added = [row for row in ours if row not in theirs]
    if missing or added or len(ours) != len(theirs):
        yield f"{len(ours)} rows for {len(theirs)}, without {missing[:2]}, but with {added[:2]}"


def _normalise(title: str, place: Mapping[str, int], row: list[Any]) -> None:
    """Put what Java holds in a HashMap in one order, and cut what is finer than the column's type."""
    if title == "schemas":
        for column in ("fields", "options"):
            row[place[column]] = json.loads(row[place[column]])
    if title == "aggregation_fields":
        for column in ("function", "function_options"):
            row[place[column]] = sorted(row[place[column]][1:-1].split(", "))
    if title == "tags" and row[place["create_time"]] is not None:
        row[place["create_time"]] = row[place["create_time"]][: len("2026-11-20T15:51:53.089")]


def _show_bytes(ours: Mapping[str, list[Any]], theirs: Sequence[list[Any]]) -> None:
    """Java prints the identity of a byte array, the library its bytes as hex: any are as good."""
    for row in theirs:
        for i, value in enumerate(row):
            if isinstance(value, str) and "[B@" in value:
                pattern = re.sub(r"\\\[B@[0-9a-f]+", "[0-9a-f]*", re.escape(value))
                mine = ours.get(row[2], row)[i]
                row[i] = mine if re.fullmatch(pattern, mine) else value


def _in_form_of(version: str, table: Table, title: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row of ours in the form of a version."""
    fields = table.schema.partition_fields
    if title == "branches":
        row["create_time"] = MODIFIED
    if is_old(version):
        if title == "files":
            row["file_path"] = row["file_path"].rsplit("/", 1)[-1]
        return row
    if title == "partitions" and version in ("1.4.2", "2.0.0"):
        row["partition"] = as_path(fields, row["partition"], table.options.files.partition_default_name)
    else:
        for name in ("partition", "min_partition_stats", "max_partition_stats"):
            if name in row:
                row[name] = as_braces(fields, row[name])
    return row
