"""Jobs and schedules: the pipelines that make assets, and the maintenance of tables."""

from __future__ import annotations

from typing import Final

from jobs.file_indexes import rewrite_index_table
from jobs.maintenance import compact_table, expire_table
from jobs.orphans import clean_table
from jobs.pipelines import all_checks, ingest, main_pipeline, marts
from jobs.rescale import rescale_table
from jobs.schedules import cdc_daily, nightly_compaction, nightly_expiry, weekly_cleaning, weekly_index_rewrite

all_jobs: Final = (
    ingest,
    marts,
    main_pipeline,
    all_checks,
    compact_table,
    expire_table,
    rescale_table,
    rewrite_index_table,
    clean_table,
)
all_schedules: Final = (cdc_daily, nightly_compaction, nightly_expiry, weekly_cleaning, weekly_index_rewrite)
