"""The one partitioning of the project: days of the change feed, by arrival."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Final

import dagster as dg

from assets.feed.plan import FIRST_DAY

daily: Final = dg.DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat())

ONE_RUN: Final = dg.BackfillPolicy.single_run()
"""A range of days is one run: one JVM, one Spark plan and one commit for each table."""


def days_of(keys: Iterable[str]) -> list[date]:
    """Partition keys as dates."""
    return [date.fromisoformat(key) for key in keys]
