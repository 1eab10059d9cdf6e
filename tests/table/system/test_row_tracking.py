"""``$row_tracking``: rows keep their ids and sequence numbers wherever they are moved to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table, load_catalog
from table_format.codecs.binary_row import serialize_row
from table_format.errors import BadEncoding, InvalidOption, UnsupportedFeature
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta, FileSource, SimpleStats
from table_format.model.schema import ROW_TRACKING
from table_format.model.split import DataSplit
from table_format.table.system.table import SystemTable
from tests.formats.files import a_batch, parquet_bytes
from tests.support.golden import golden_case
from tests.support.tables import memory_warehouse

CASE = "append_row_tracking"
"""Three commits of six rows each: the ids are those of the column ``id``, the numbers 1, 2 and 3."""

Shown = list[tuple[Any, ...]]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    opened = load_catalog({"warehouse": str(golden_case(CASE).writable_copy(tmp_path))}).load_table("db.t")
    assert isinstance(opened, Table)
    return opened


def tracking(table: Table) -> SystemTable:
    warehouse = table.facts.store.paths.root.rpartition("/db.db/")[0]
    opened = load_catalog({"warehouse": warehouse}).load_table("db.t$row_tracking")
    assert isinstance(opened, SystemTable)
    return opened


def shown(table: Table, *columns: str, **arguments: Any) -> Shown:
    found = tracking(table).scan(columns or None, **arguments).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def files_of(table: Table) -> tuple[DataSplit, Sequence[DataFileMeta]]:
    [split] = table.scan().plan().splits
    return split, split.files


def moved(table: Table, files: Sequence[DataFileMeta], rows: Sequence[Mapping[str, Any]]) -> None:
    """Put one file in the place of others, whose rows say their ids and numbers, as a compaction of Paimon does."""
    facts, fields = table.current_facts, (*table.schema.fields, *ROW_TRACKING)
    data, written = parquet_bytes(fields, a_batch(fields, list(rows)))
    types = [field.type for field in fields]
    bounds = [(b.minimum, b.maximum, b.null_count) for b in written.bounds]
    minima, maxima, nulls = zip(*bounds, strict=True)
    file = replace(
        files[0],
        file_name="data-moved.parquet",
        file_size=len(data),
        row_count=len(rows),
        value_stats=SimpleStats(serialize_row(types, minima), serialize_row(types, maxima), nulls),
        file_source=FileSource.COMPACT,
        first_row_id=None,
        write_cols=tuple(field.name for field in fields),
    )
    split, _ = files_of(table)
    facts.store.io.create(facts.store.paths.data_file("", split.bucket, file), data)
    message = CommitMessage(
        partition=split.partition,
        bucket=split.bucket,
        total_buckets=-1,
        compact_before=tuple(files),
        compact_after=(file,),
    )
    facts.committer("mover").commit(Committable(identifier=1, messages=(message,)))


def row(key: int, row_id: int | None, number: int | None) -> dict[str, Any]:
    return {"id": key, "name": "moved", "n": None, "d": key / 2, "_ROW_ID": row_id, "_SEQUENCE_NUMBER": number}


def test_rows_have_the_ids_and_numbers_of_their_files(table: Table) -> None:
    assert shown(table, "id", "_ROW_ID", "_SEQUENCE_NUMBER") == [(i, i, 1 + i // 6) for i in range(18)]
    assert tracking(table).scan().schema == tracking(table).schema
    assert not tracking(table).schema.field("_ROW_ID").nullable


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("_ROW_ID = 7", [7]),
        ("_ROW_ID IN (3, 14) AND id < 10", [3]),
        ("_ROW_ID = 3 OR id = 17", [3, 17]),
        ("_SEQUENCE_NUMBER = 2 AND name = 'bob'", [6, 9]),
        ("_ROW_ID = 99", []),
    ],
)
def test_ids_and_columns_of_the_table_are_filtered_by(table: Table, condition: str, ids: list[int]) -> None:
    assert shown(table, "id", filter=condition) == [(i,) for i in ids]
    assert shown(table, "_ROW_ID", filter=condition) == [(i,) for i in ids]


def test_what_was_moved_keeps_its_ids_and_what_was_changed_has_the_number_of_its_file(table: Table) -> None:
    _, files = files_of(table)
    moved(table, files[:2], [row(20, 11, 2), row(21, 0, None), row(22, 5, 1)])
    number = max(file.max_sequence_number for file in files[:1])
    assert shown(table, "id", "_ROW_ID", "_SEQUENCE_NUMBER", filter="name = 'moved'") == [
        (20, 11, 2),
        (21, 0, number),
        (22, 5, 1),
    ]
    assert shown(table, "_ROW_ID", filter="id < 20") == [(i,) for i in range(12, 18)]


def test_a_table_with_moved_rows_is_read_filtered_and_shown(table: Table) -> None:
    _, files = files_of(table)
    moved(table, files[:2], [row(20, 11, 2), row(21, 0, None)])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [*range(12, 18), 20, 21]
    assert table.scan(filter="id = 21 AND d < 11").to_arrow()["name"].to_pylist() == ["moved"]
    assert table.scan(filter="id > 99").plan().splits == ()
    opened = load_catalog({"warehouse": table.facts.store.paths.root.rpartition("/db.db/")[0]}).load_table("db.t$files")
    described = {r["record_count"]: r for r in opened.scan().to_arrow().to_pylist()}
    assert described[2]["max_value_stats"] == "{d=10.5, id=21, n=null, name=moved}"
    assert described[2]["write_cols"] == ["id", "name", "n", "d", "_ROW_ID", "_SEQUENCE_NUMBER"]
    assert table.verify().is_healthy


def test_rows_without_ids_are_named_by_their_file(table: Table) -> None:
    _, files = files_of(table)
    moved(table, files[:2], [row(20, 11, 2), row(21, None, None)])
    with pytest.raises(BadEncoding, match=r"data-moved\.parquet: rows have no ids: neither the file nor its metadata"):
        shown(table)


def test_it_travels_in_time_and_shows_what_was_added(table: Table) -> None:
    assert len(shown(table, options={"scan.snapshot-id": "1"})) == 6
    assert shown(table, "_ROW_ID", options={"incremental-between": "1,2"}) == [(i,) for i in range(6, 12)]


def test_the_splits_are_read_by_themselves(table: Table) -> None:
    scan = tracking(table).scan(["_ROW_ID"], "id > 15")
    read = scan.split_reader()
    assert pa.Table.from_batches(b for split in scan.plan().splits for b in read(split)).to_pydict() == {
        "_ROW_ID": [16, 17]
    }


def test_a_table_without_row_tracking_has_no_such_table() -> None:
    warehouse = memory_warehouse()
    warehouse.table()
    with pytest.raises(InvalidOption, match=r"'row-tracking.enabled' is not 'true' for db\.t; its rows have no ids"):
        warehouse.catalog.load_table("db.t$row_tracking")


def test_whatever_would_write_or_move_rows_is_refused_by_name(table: Table) -> None:
    rows, before = table.scan().to_arrow(), len(table.snapshots())
    writes = (
        lambda: table.append(rows),
        lambda: table.overwrite(rows),
        lambda: table.delete("id = 1"),
        lambda: table.update({"n": "1"}, "id = 1"),
        lambda: table.compact(full=True),
        lambda: table.compact(order_by=["id"]),
        lambda: table.truncate(),
        lambda: table.analyze(["id"]),
        lambda: table.rewrite_file_index(),
    )
    for write in writes:
        with pytest.raises(UnsupportedFeature, match=r"'row-tracking\.enabled' = 'true'"):
            write()
    assert len(table.snapshots()) == before


def test_history_is_kept_and_forgotten_as_of_any_table(table: Table) -> None:
    table.create_tag("kept", 1)
    _, files = files_of(table)
    moved(table, files[:2], [row(20, 11, 2), row(21, 0, 1)])
    assert table.snapshots()[-1].next_row_id == 18
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**62, retain_floor_ms=0)
    assert shown(table, "_ROW_ID") == [(0,), (11,), *((i,) for i in range(12, 18))]
    assert shown(table, "_ROW_ID", options={"scan.tag-name": "kept"}) == [(i,) for i in range(6)]
