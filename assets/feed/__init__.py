"""The generated change feed of a small shop. The same (seed, table, day) always gives the same bytes.

It has the faults of a real feed, each with its own switch in ``FeedPlan``: late, duplicate and out-of-order events,
deletes, hot keys, and a schema that changes on the eighth day.
"""

from __future__ import annotations

from assets.feed.delivery import delivered_events, json_lines
from assets.feed.plan import FEED_TABLES, FeedPlan, FeedTable, source_columns

__all__ = ["FEED_TABLES", "FeedPlan", "FeedTable", "delivered_events", "json_lines", "source_columns"]
