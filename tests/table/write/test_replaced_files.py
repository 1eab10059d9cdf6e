"""Whether a file that is missing was replaced by others, which the newest snapshot tells."""

from __future__ import annotations

import pytest

from table_format import Table
from table_format.errors import BucketLost, FileConflict, MissingFile
from table_format.table.write.replaced_files import conflict_if_replaced, is_replaced
from tests.support.deletion_marks import live
from tests.support.tables import keyed, memory_warehouse


def a_table() -> Table:
    """A marked table, whose last compaction replaced a data file and an index file."""
    table = memory_warehouse().table(
        primary_keys=["id"], options={"bucket": "1", "write-only": "true", "deletion-vectors.enabled": "true"}
    )
    table.append(keyed([(k, "a", 0) for k in range(2000)]))
    table.compact(full=True)
    table.append(keyed([(1, "a", 1)]))
    table.compact()
    return table


def files_of(table: Table) -> set[str]:
    """The data and index files of the newest snapshot, as paths."""
    facts, paths = table.facts, table.store.paths
    data = {paths.data_file("", entry.bucket, entry.file) for entry in live(table)}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return data | {paths.index(entry.index_file.file_name) for entry in facts.manifests.index_entries(snapshot)}


def test_what_the_newest_snapshot_names_is_not_replaced_and_all_else_is() -> None:
    table = a_table()
    before = files_of(table)
    assert any("/index/" in path for path in before)
    partition = live(table)[0].partition
    table.compact(full=True)
    after = files_of(table)
    assert before - after
    assert all(is_replaced(table.facts, partition, path) for path in before - after)
    assert not any(is_replaced(table.facts, partition, path) for path in after)


def test_a_schema_is_never_replaced_nor_is_anything_of_a_table_without_snapshots() -> None:
    table = a_table()
    assert not is_replaced(table.facts, live(table)[0].partition, table.store.paths.schema(7))
    empty = memory_warehouse().table()
    assert not is_replaced(empty.facts, b"", f"{empty.store.paths.root}/bucket-0/data-1.parquet")


@pytest.mark.parametrize(("bucket", "error"), [(0, BucketLost), (None, FileConflict)])
def test_a_replaced_file_is_a_conflict_and_a_missing_one_stays_what_it_is(
    bucket: int | None, error: type[FileConflict]
) -> None:
    table = a_table()
    partition = live(table)[0].partition
    (path, *_) = files_of(table)
    with pytest.raises(MissingFile, match=path), conflict_if_replaced(table.facts, partition, bucket):
        raise MissingFile(path)
    gone = f"{table.store.paths.root}/bucket-0/data-gone.parquet"
    with pytest.raises(error, match="start again") as caught, conflict_if_replaced(table.facts, partition, bucket):
        raise MissingFile(gone)
    assert type(caught.value) is error
    assert isinstance(caught.value.__cause__, MissingFile)
