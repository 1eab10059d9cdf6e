"""A plan says of each file which index left it out, how many rows were selected, or why no index was used."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from table_format import Table
from table_format.table.read.file_notes import FileNote
from tests.support.reachable import files_below
from tests.support.tables import memory_warehouse

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string()), ("n", pa.int64())])
INDEXED = {
    "file-index.bloom-filter.columns": "id",
    "file-index.bitmap.columns": "s",
    "file-index.bsi.columns": "n",
    "metadata.stats-mode": "none",
}


def table_of(options: Mapping[str, str] | None = None, keys: tuple[str, ...] = ()) -> Table:
    """Two files of four rows: ids 0 to 3 and 10 to 13, s 'a', 'b', null, 'a'; n as id."""
    more = {"bucket": "1"} if keys else {}
    table = memory_warehouse().table(schema=SCHEMA, primary_keys=keys, options={**INDEXED, **more, **(options or {})})
    for first in (0, 10):
        ids = [first + k for k in range(4)]
        table.append(pa.table({"id": ids, "s": ["a", "b", None, "a"], "n": ids}, schema=SCHEMA))
    return table


def notes(table: Table, filter: str | None, options: Mapping[str, str] | None = None) -> list[tuple[bool, int | None]]:
    return [(note.is_read, note.selected) for note in found(table, filter, options)]


def found(table: Table, filter: str | None, options: Mapping[str, str] | None = None) -> tuple[FileNote, ...]:
    return table.scan(filter=filter, options=options).plan().file_notes()


def test_each_file_names_the_index_that_left_it_out_or_selected_its_rows() -> None:
    table = table_of()
    first, second = found(table, "s = 'a' AND n > 2")
    assert [(note.is_read, note.rows) for note in (first, second)] == [(True, 4), (True, 4)]
    assert str(first).endswith(": 1 of 4 rows selected by bitmap(s), bsi(n)")
    assert (second.selected, second.indexes) == (2, ("bitmap(s)", "bsi(n)"))
    first, second = found(table, "s = 'b' AND n >= 10")
    assert str(first).endswith(": left out by bsi(n)")
    assert (first.is_read, first.selected, first.path.rsplit("/", 1)[1][:5]) == (False, 0, "data-")
    first, second = found(table, "id = 12")
    assert (str(first).split(": ")[1], str(second).split(": ")[1]) == (
        "left out by bloom-filter(id)",
        "bloom-filter(id) may hold the values",
    )


def test_a_condition_without_a_row_in_either_column_names_both_indexes() -> None:
    (first, _) = found(table_of(), "s = 'x' OR n = 11")
    assert first.indexes == ("bitmap(s)", "bsi(n)")


def test_the_report_has_files_only_where_they_are_asked_for() -> None:
    plan = table_of().scan(filter="n = 11").plan()
    assert plan.explain() == str(plan)
    assert plan.explain(files=True).splitlines()[:-2] == plan.explain().splitlines()
    assert [line.split(": ")[1] for line in plan.explain(files=True).splitlines()[-2:]] == [
        "left out by bsi(n)",
        "1 of 4 rows selected by bsi(n)",
    ]


def test_a_file_whose_indexes_are_not_used_says_why() -> None:
    table = table_of({"file-index.in-manifest-threshold": "0 b"})
    unread = {"file-index.read.enabled": "false"}
    reasons = [
        found(table, None)[0].reason,
        found(table, "n = 1", unread)[0].reason,
        found(table, "s LIKE 'a%' OR n = 1")[0].reason,
        found(table_of({"file-index.bsi.columns": "n", "file-index.bitmap.columns": "id"}), "s <> 'a'")[0].reason,
    ]
    for path in list(files_below(table.store.io, table.store.paths.root)):
        if path.endswith(".index"):
            table.store.io.delete(path)
    reasons.append(found(table, "n = 1")[0].reason)
    assert reasons == [
        "there is no filter",
        "'file-index.read.enabled' is false",
        "no index of its columns helps",
        "no index of the table helps with the filter",
        "its index is missing or damaged",
    ]


def test_a_file_left_out_by_statistics_says_so() -> None:
    table = table_of({"metadata.stats-mode": "full", "file-index.read.enabled": "false"}, ("id",))
    table.append(pa.table({"id": [0, 3], "s": ["z", "z"], "n": [0, 0]}, schema=SCHEMA))
    reason = "'file-index.read.enabled' is false"
    left_out = f"left out by statistics; {reason}"
    assert [note.reason for note in found(table, "n = 11")] == [left_out, reason, left_out]


def test_files_that_are_merged_are_left_out_by_their_keys_alone() -> None:
    table = table_of({"file-index.bitmap.columns": "s,id"}, ("id",))
    table.append(pa.table({"id": [0, 13], "s": ["z", "z"], "n": [0, 0]}, schema=SCHEMA))
    assert notes(table, "id = 2") == [(True, 1), (False, 0)]
    merged = found(table, "s = 'a'")
    assert {note.reason for note in merged} == {"its rows are merged with those of other files, which may replace them"}
    assert all(note.is_read for note in merged)


def test_tasks_do_not_carry_the_files_that_were_left_out() -> None:
    plan = table_of().scan(filter="n = 11").plan()
    assert len(plan.candidates) == 2
    assert plan.without_splits.candidates == ()
