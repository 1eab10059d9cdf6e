"""Indexes are rewritten while other processes write and compact: no row is lost, and none comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format.table.upkeep.declared_indexes import index_coverage
from tests.races.processes import Worker
from tests.races.workers import append_and_compact, declare_and_rewrite_indexes
from tests.support.reachable import check_files
from tests.support.tables import disk_warehouse, rows_of

OPTIONS = {
    "commit.max-retries": "100",
    "file-index.bitmap.columns": "id",
    "file-index.in-manifest-threshold": "100 b",
}


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_writers_compactions_and_rewrites_of_indexes_leave_every_row_in_place(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    warehouse = disk_warehouse(tmp_path)
    table = warehouse.table(
        primary_keys=keys, options={**OPTIONS, **({"bucket": "1"} if keys else {"compaction.min.file-num": "2"})}
    )
    writers = [Worker(append_and_compact, str(tmp_path), who, 12) for who in range(2)]
    rewriter = Worker(declare_and_rewrite_indexes, str(tmp_path), 12)
    assert [worker.reports() for worker in writers] == [list(range(12))] * 2
    assert len(rewriter.reports()) == 12
    table = warehouse.reopened(table)
    table.rewrite_file_index()
    assert index_coverage(table.facts).is_complete
    assert rows_of(table) == sorted(
        [(1000 * who + number, f"p{who}", number) for who in range(2) for number in range(12)], key=repr
    )
    table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
    check_files(table)
