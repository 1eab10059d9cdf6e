"""The only partitions definition of the project: days of the change feed, by arrival."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import dagster as dg

from assets.feed.plan import FIRST_DAY

FEED_DAYS: Final = 31
"""The days of the feed. The range is fixed, so that pages and plots show how much of it is loaded."""

daily: Final = dg.DailyPartitionsDefinition(
    start_date=FIRST_DAY.isoformat(), end_date=(FIRST_DAY + timedelta(days=FEED_DAYS)).isoformat()
)

ONE_RUN: Final = dg.BackfillPolicy.single_run()
"""A range of days is one run: one JVM, one Spark plan and one commit for each table."""

WEEKS: Final = dg.BackfillPolicy.multi_run(max_partitions_per_run=7)
"""A range of days is several runs of at most a week. A failure affects one week, and weeks run in parallel."""
