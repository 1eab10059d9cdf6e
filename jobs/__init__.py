"""Jobs and schedules of the shop: the pipelines that make assets, and the maintenance of their tables."""

from __future__ import annotations

from typing import Any, Final

from assets import MANAGED_TABLES
from dagster_paimon import maintenance_jobs, maintenance_schedules
from jobs.pipelines import all_checks, cdc_daily, enrich, follow_changes, ingest, main_pipeline, marts

all_jobs: Final[tuple[Any, ...]] = (
    ingest,
    marts,
    enrich,
    follow_changes,
    main_pipeline,
    all_checks,
    *maintenance_jobs(MANAGED_TABLES),
)
all_schedules: Final = (cdc_daily, *maintenance_schedules(MANAGED_TABLES))
