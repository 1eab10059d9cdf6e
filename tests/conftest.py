"""What makes the tests quick: long files come first, so that no worker is left with one at the end; one worker has all
tests on Java; and Spark's JVMs, which live for minutes, load their classes from an archive and do not spend half of
their time on optimising code. What the library keeps on this machine is in a directory of each run of the tests, not in
the user's cache, where others delete. Nothing waits for the disk. Hypothesis has no deadline. The garbage collector
leaves out what stays until the end.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests.support.matrix import tries
from tests.support.one_java import OneJava
from tests.support.shared_classes import java_options

# Tests count the stages of jobs. Of a thousand stages Spark forgets the skipped ones first, even if they are new. So
# this holds for every session, also one that another test than those of Spark has started.
_REMEMBERING: Final = "-Dspark.ui.retainedJobs=100000 -Dspark.ui.retainedStages=100000"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{java_options()} {_REMEMBERING}")

# The tests start hundreds of processes; one that imports the library takes 1.3 s longer if it has to compile it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

for _tool in ("pip", "uv"):  # Packages that were downloaded once stay where they are.
    os.environ.setdefault(f"{_tool.upper()}_CACHE_DIR", str(Path.home() / ".cache" / _tool))

# A shell ignores SIGINT for what it starts in the background. Dagster would then ignore SIGTERM too, and so would every
# process that a test starts and ends.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_CACHE: Final = tempfile.mkdtemp(prefix="lakehouse-cache-")
os.environ["XDG_CACHE_HOME"] = _CACHE
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)

# No test cuts the power, so none waits for a disk. Tests of durability put their own function in this place.
patch.object(os, "fsync", lambda _handle: None).start()

# The same examples in every run, whatever else the machine does; ``--hypothesis-profile=random`` draws others.
_EXAMPLES: Final = tries(40, many=100)
settings.register_profile("same", deadline=None, derandomize=True, max_examples=_EXAMPLES)
settings.register_profile("random", deadline=None, max_examples=_EXAMPLES)
settings.load_profile("same")

HERE: Final = Path(__file__).parent
LONG: Final = (
    "table/test_object_stores.py",
    "spark/test_connect.py",
    "spark/dml/test_statements.py",
    "spark/cluster",
    "spark/read/test_absent_rows.py",
    "spark/stream/test_streaming_queries.py",
    "wheel/test_fifteen_minutes.py",
    "jobs/test_demo.py",
    "corruption",
    "spark/test_format_tables.py",
    "table/changes/test_row_change_types.py",
    "spark/test_object_stores.py",
    "wheel/test_extras.py",
    "spark/sql/test_statements.py",
    "table/read/test_reads_under_expiry.py",
    "spark/test_odd_input.py",
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
    "wheel/test_foreign_location.py",
    "spark/jobs/test_sort_compact.py",
    "spark/source/test_data_source.py",
    "spark/test_queries.py",
    "table/test_links.py",
    "spark/dml/test_random_statements.py",
    "table/placement/test_key_index_updates.py",
    "spark/sql/test_materialized_tables.py",
    "table/read/test_changelog_law.py",
    "dagster_paimon/maintenance/test_terminated_jobs.py",
    "table/test_stale_handles.py",
    "table/placement/test_dynamic.py",
    "table/read/test_failing_reads.py",
    "table/test_hostile_files.py",
    "spark/test_type_changes.py",
    "dagster_paimon/maintenance/test_jobs.py",
    "table/upkeep/test_sort_compaction.py",
    "spark/write/test_frames.py",
    "spark/source/test_save_modes.py",
    "spark/read/test_deletion_vectors.py",
    "spark/source/test_named_streams.py",
    "table/write/test_failing_disk.py",
    "torture",
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
    "table/test_life_cycle_laws.py",
    "dagster_paimon/io/test_partitioned_assets.py",
    "spark/read/test_readable_names.py",
    "spark/write/test_named_rows.py",
    "spark/read/test_conditions.py",
    "table/test_odd_arguments.py",
    "spark/dml/test_merged_schema.py",
    "dagster/test_dg.py",
    "table/read/test_limit.py",
    "spark/write/test_spelling.py",
    "dagster/test_secrets.py",
    "spark/source/test_system_reader.py",
    "io/test_regular_files.py",
    "simulation",
)
"""Files and directories of the tests that are marked ``long``: most of those that take more than ten seconds, the
longest of them first, and searches.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the long tests, and put them first, for ``--dist loadfile --no-loadscope-reorder``.

    Of the others, those on Spark come first. Tests of a file keep their order.
    """
    for item in items:
        if _rank(item.path) < len(LONG):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: _rank(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneJava | None:
    """Keep the tests on Java together."""
    return OneJava(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector away from the modules and tests that are found: they stay until the process ends.

    Otherwise, it visits these objects more than a hundred times while the tests are found, and again in each full
    collection, which some tests ask for.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Give back to the garbage collector what it left out, so that the interpreter can end as usual."""
    gc.unfreeze()


@cache
def _rank(path: Path) -> int:
    name = path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""
    ranks = (rank for rank, first in enumerate((*LONG, "spark")) if name == first or name.startswith(f"{first}/"))
    return next(ranks, len(LONG) + 1)
