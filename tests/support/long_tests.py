"""The long tests, and which of them a run takes: ``pytest --long no``, ``yes``, ``only``, ``K/N`` or ``K-L/N``.

``3/10`` takes the third of ten shares of them beside all other tests. The ten runs take each of them once. ``4-6/10``
takes the fourth to the sixth share without the other tests. The first share follows the last one: ``9-11/10`` takes the
ninth, the tenth and the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
LONG: Final = (
    "oracle/test_hdfs.py",
    "spark/test_hdfs.py",
    "oracle/test_sql.py",
    "oracle/test_hive_catalogs.py",
    "oracle/test_s3_tables.py",
    "table/test_object_stores.py",
    "spark/test_connect.py",
    "oracle/test_demo.py",
    "oracle/test_hand_over_histories.py",
    "spark/dml/test_statements.py",
    "spark/cluster",
    "oracle/test_spark_statements.py",
    "oracle/test_write_matrix.py",
    "spark/read/test_absent_rows.py",
    "oracle/test_rest_catalogs.py",
    "oracle/test_gcs.py",
    "oracle/test_jdbc_catalogs.py",
    "spark/stream/test_streaming_queries.py",
    "oracle/test_manifest_formats.py",
    "oracle/test_moving_keys.py",
    "wheel/test_fifteen_minutes.py",
    "oracle/test_s3_histories.py",
    "jobs/test_demo.py",
    "corruption",
    "spark/test_format_tables.py",
    "table/changes/test_row_change_types.py",
    "spark/test_object_stores.py",
    "wheel/test_extras.py",
    "spark/sql/test_statements.py",
    "table/read/test_reads_under_expiry.py",
    "spark/test_odd_input.py",
    "oracle/test_accepted_tables.py",
    "oracle/test_index_hand_overs.py",
    "dagster_paimon/resources/test_spark_process.py",
    "table/write/test_acknowledged_rows.py",
    "table/placement/test_cross_partition.py",
    "spark/read/test_counted_rows.py",
    "spark/test_table_modes.py",
    "spark/write/test_cross_partition.py",
    "table/read/test_row_selection.py",
    "catalog/hive/test_interrupted_changes.py",
    "spark/read/test_classic_frames.py",
    "golden/test_system_tables.py",
    "table/test_changed_formats.py",
    "dagster/test_pipeline.py",
    "spark/read/test_positions.py",
    "spark/stream/test_branches.py",
    "golden/test_verify.py",
    "wheel/test_typed_program.py",
    "spark/test_secrets.py",
    "dagster_paimon/io/test_io_manager.py",
    "spark/sql/test_queries.py",
    "wheel/test_foreign_location.py",
    "spark/jobs/test_sort_compact.py",
    "spark/source/test_data_source.py",
    "spark/test_queries.py",
    "table/test_links.py",
    "spark/dml/test_random_statements.py",
    "table/placement/test_key_index_updates.py",
    "spark/sql/test_materialized_tables.py",
    "spark/sql/test_partial_refreshes.py",
    "table/read/test_changelog_law.py",
    "dagster_paimon/maintenance/test_terminated_jobs.py",
    "table/test_stale_handles.py",
    "table/placement/test_dynamic.py",
    "table/read/test_failing_reads.py",
    "table/test_hostile_files.py",
    "spark/test_type_changes.py",
    "dagster_paimon/maintenance/test_jobs.py",
    "catalog/hive/test_hive_catalog.py",
    "table/upkeep/test_sort_compaction.py",
    "spark/write/test_frames.py",
    "spark/source/test_save_modes.py",
    "spark/read/test_deletion_vectors.py",
    "spark/source/test_named_streams.py",
    "table/write/test_failing_disk.py",
    "dagster_paimon/maintenance/test_locks.py",
    "golden/test_file_indexes.py",
    "codecs/test_manifest_avro.py",
    "catalog/test_changes_beside_drops.py",
    "dagster_paimon/sensors/test_changed_partitions.py",
    "golden/test_changelogs.py",
    "dagster_paimon/io/test_changes.py",
    "table/read/test_pruning.py",
    "table/read/test_file_indexes.py",
    "spark/test_table_writer.py",
    "spark/write/test_ways.py",
    "table/test_merge_on_write.py",
    "table/read/test_aggregates.py",
    "spark/sql/test_default_values.py",
    "table/upkeep/test_index_rewrite.py",
    "table/upkeep/test_long_lived_changelogs.py",
    "kernels/engines/test_random_histories.py",
    "table/write/test_several_writers.py",
    "spark/sql/test_stored_views.py",
    "catalog/hive/test_format_tables.py",
    "spark/dml/test_metadata_columns.py",
    "table/read/test_scan_dataset.py",
    "table/test_life_cycle_laws.py",
    "dagster_paimon/io/test_partitioned_assets.py",
    "spark/read/test_readable_names.py",
    "spark/write/test_named_rows.py",
    "catalog/jdbc/test_postgresql.py",
    "dagster_paimon/test_object_stores.py",
    "kernels/file_index/test_settings.py",
    "spark/read/test_conditions.py",
    "spark/write/test_unmeasured.py",
    "spark/read/test_metadata_columns.py",
    "table/test_odd_arguments.py",
    "table/test_operations_beside_drops.py",
    "metastore/expiry/test_deletions_beside_renames.py",
    "metastore/expiry/test_deletions_beside_rollbacks.py",
    "dagster_paimon/io/test_publishing.py",
    "spark/write/test_lost_races.py",
    "spark/dml/test_merged_schema.py",
    "table/write/test_unreadable_commits.py",
    "table/read/test_batch_bounds.py",
    "dagster_paimon/checks/test_tables.py",
    "kernels/file_index/test_row_indexes.py",
    "spark/read/test_catalyst_limits.py",
    "table/write/test_long_names.py",
    "kernels/file_index/test_look_ups.py",
    "races/test_dynamic_bucket_races.py",
    "spark/test_dynamic_bucket.py",
    "spark/test_distribution.py",
    "table/placement/test_cross_partition_writers.py",
    "spark/write/test_few_rows.py",
    "dagster_paimon/sensors/test_followed_histories.py",
    "dagster/test_dg.py",
    "table/read/test_followed_tables.py",
    "spark/sql/test_attached_tables.py",
    "spark/write/test_other_buckets.py",
    "spark/test_stale_handles.py",
    "table/upkeep/test_background_compaction.py",
    "table/changes/test_row_actions.py",
    "table/upkeep/test_rescale.py",
    "table/read/test_limit.py",
    "spark/write/test_spelling.py",
    "dagster/test_secrets.py",
    "spark/source/test_system_reader.py",
    "io/test_regular_files.py",
    "torture",
    "simulation",
)
"""Files and directories of the tests that take more than about seven seconds, the longest of them first, and searches.

What everything else rests on is not among them: the golden tables, the merge kernels, and the contract of stores on
local disks and on S3.
"""


def is_long(item: pytest.Item) -> bool:
    """Whether a test belongs to the long ones, by its file or by a mark of its own."""
    return rank(item.path) < len(LONG) or item.get_closest_marker("long") is not None


@cache
def rank(path: Path) -> int:
    """Return the place of a file in the order of the tests: long ones first, and of the others those on Spark."""
    name = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    ranks = (rank for rank, first in enumerate((*LONG, "spark")) if name == first or name.startswith(f"{first}/"))
    return next(ranks, len(LONG) + 1)


def chosen(items: Sequence[pytest.Item], which: str) -> list[pytest.Item]:
    """Return the tests that a run takes, in their order.

    Raises:
        pytest.UsageError: ``which`` is none of ``no``, ``yes``, ``only``, ``K/N`` and ``K-L/N``; or K is not between 1
            and N, or L is not between K and K + N - 1.
    """
    if which == "yes":
        return list(items)
    if which == "only":
        return [item for item in items if is_long(item)]
    shares = _Shares(frozenset({0}), 1) if which == "no" else _Shares.of(which)
    files = sorted({item.path for item in items if is_long(item)}, key=lambda path: (rank(path), path))
    taken = {path for place, path in enumerate(files) if _turn(place, shares.count) in shares.taken}
    return [item for item in items if (item.path in taken if is_long(item) else not shares.is_alone)]


def _turn(place: int, shares: int) -> int:
    """Return the share of a file by its place. Each second round goes backward, so that the shares are equally long."""
    turn, position = divmod(place, shares)
    return shares - position if turn % 2 else position + 1


@dataclass(frozen=True)
class _Shares:
    """Some of ``count`` shares of the long tests, beside the other tests or alone."""

    taken: frozenset[int]
    count: int
    is_alone: bool = False

    @classmethod
    def of(cls, which: str) -> _Shares:
        """Parse ``K/N`` or ``K-L/N``."""
        if match := re.fullmatch(r"(\d+)(?:-(\d+))?/(\d+)", which):
            first, count = int(match[1]), int(match[3])
            last = int(match[2] or first)
            if 1 <= first <= count and first <= last < first + count:
                taken = frozenset((number - 1) % count + 1 for number in range(first, last + 1))
                return cls(taken, count, is_alone=match[2] is not None)
        raise pytest.UsageError(f"--long is {which!r}; it is no, yes, only, K/N or K-L/N, such as 3/10 or 4-6/10")
