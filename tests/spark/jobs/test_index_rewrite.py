"""New indexes for data files as a Spark job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.model.schema_change import SetOption
from table_format.spark.operations import OnSpark
from table_format.spark.tasks.bucket_jobs import buckets_in_tasks
from table_format.table.upkeep.declared_indexes import index_coverage
from table_format.table.upkeep.index_rewrite import IndexRewrite, IndexRewriteReport, rewrite_indexes, rewrite_work
from tests.spark.lakes import DATED, TestLake, jobs_of
from tests.support.deletion_marks import live
from tests.support.reachable import check_files

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

DDL = "dt string, id long, v string"
INDEXES = [SetOption("file-index.bitmap.columns", "v"), SetOption("file-index.in-manifest-threshold", "1 b")]


@pytest.fixture
def filled(lake: TestLake) -> TestLake:
    lake.create(schema=DATED, primary_keys=(), partition_keys=("dt",), write_only="true")
    for number in range(3):
        lake.write([(date, number, f"v{number}") for date in "ab"], DDL, parallelism=1)
    lake.lake.catalog.alter_table("s.t", INDEXES)
    return lake


def test_tasks_build_indexes_in_one_commit(filled: TestLake) -> None:
    before = filled.rows()
    reports: list[IndexRewriteReport] = []
    jobs = jobs_of(filled.spark, lambda: reports.append(filled.lake.rewrite_file_index("s.t")))
    assert jobs == [[2]]
    ((report),) = reports
    assert (report.files, report.rewritten, len(report.snapshots)) == (6, 6, 1)
    assert index_coverage(filled.table().facts).is_complete
    assert all(len(entry.file.extra_files) == 1 for entry in live(filled.table()))
    assert filled.rows() == before
    assert filled.rows(filter="v = 'v1'") == [row for row in before if row[-1] == "v1"]
    assert filled.lake.rewrite_file_index("s.t").snapshots == ()
    check_files(filled.table())


def test_the_procedure_rewrite_file_index_runs_in_tasks(filled: TestLake) -> None:
    operations = OnSpark(filled.spark, filled.lake.catalog)
    report = operations.rewrite_file_index(filled.table(), partitions=[{"dt": "a"}])
    assert (report.files, report.rewritten, report.partitions) == (3, 3, ("dt=a",))


def test_files_that_a_compaction_replaced_and_expiry_deleted_are_skipped(filled: TestLake) -> None:
    table, before = filled.table(), filled.rows()
    compactions: list[object] = []

    def after_another(pieces: Sequence[IndexRewrite]) -> Iterator[CommitMessage | BucketLost]:
        if not compactions:
            compactions.extend(table.compact(full=True, partitions=[{"dt": "b"}]))
            table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
        return buckets_in_tasks(filled.spark, pieces, partial(rewrite_work, table.facts))

    report = rewrite_indexes(table.facts, perform=after_another)
    assert compactions
    assert (report.dropped, report.partitions) == ((), ("dt=a",))
    assert index_coverage(table.facts).is_complete
    assert filled.rows() == before
    check_files(table)
