"""The settings of the feed, and the columns of its source tables on a given day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

FIRST_DAY: Final = date(2026, 1, 1)
DAY_MS: Final = 86_400_000
MAX_LATE_DAYS: Final = 3
"""The maximum delay of an event in days. A duplicate may arrive one day later."""
LIFECYCLE_DAYS: Final = 3
"""The maximum number of days between the first and the last event of an order."""


class FeedTable(StrEnum):
    """The tables of the shop that have a change feed."""

    ORDERS = "orders"
    USERS = "users"


FEED_TABLES: Final = tuple(FeedTable)
KEY_COLUMN: Final[Mapping[FeedTable, str]] = {FeedTable.ORDERS: "order_id", FeedTable.USERS: "user_id"}


COLUMN_COMMENTS: Final[Mapping[FeedTable, Mapping[str, str]]] = {
    FeedTable.ORDERS: {
        "order_id": "number of the order",
        "user_id": "who ordered",
        "status": "created, paid, shipped or cancelled",
        "amount": "price of the order in euros",
        "created_at": "when it was ordered",
        "updated_at": "when it last changed",
        "coupon": "code that was redeemed; null without one, and before the source had the column",
    },
    FeedTable.USERS: {
        "user_id": "number of the user",
        "name": "name as given",
        "city": "where the user lives",
        "tier": "bronze, silver or gold",
        "created_at": "when the user signed up",
        "updated_at": "when the user last changed",
    },
}
"""The descriptions of the columns of the source."""


@dataclass(frozen=True, slots=True)
class FeedPlan:
    """Size, seed and faults of the feed. Shares are fractions of 1; a share of 0 turns the fault off."""

    seed: int = 7
    events_per_day: int = 5_000
    late_share: float = 0.02
    duplicate_share: float = 0.01
    disorder_share: float = 0.05
    delete_share: float = 0.02
    schema_change_day: int = 8

    def __post_init__(self) -> None:
        if self.events_per_day < 20:
            message = f"events_per_day: expected at least 20, found {self.events_per_day}"
            raise ValueError(message)

    def index(self, day: date) -> int:
        """Return the number of days since the first day of the feed.

        Raises:
            ValueError: the day is before the first day.
        """
        days = (day - FIRST_DAY).days
        if days < 0:
            message = f"day {day}: the feed begins on {FIRST_DAY}"
            raise ValueError(message)
        return days

    def has_new_schema(self, index: int) -> bool:
        """Return whether the source had its second schema on that day."""
        return index + 1 >= self.schema_change_day


def start_of_day_ms(index: int) -> int:
    """Return the start of a day of the feed (UTC) in milliseconds since the epoch."""
    epoch_days = (FIRST_DAY + timedelta(days=index)).toordinal() - date(1970, 1, 1).toordinal()
    return epoch_days * DAY_MS


def source_columns(plan: FeedPlan, table: FeedTable, index: int) -> dict[str, str]:
    """Return the column names and SQL types of the source on that day.

    >>> plan = FeedPlan()
    >>> [source_columns(plan, FeedTable.ORDERS, day)["amount"] for day in (6, 7)]
    ['DECIMAL(10, 2)', 'DECIMAL(12, 2)']
    >>> "coupon" in source_columns(plan, FeedTable.ORDERS, 6)
    False
    """
    if table is FeedTable.USERS:
        return {
            "user_id": "BIGINT",
            "name": "STRING",
            "city": "STRING",
            "tier": "STRING",
            "created_at": "TIMESTAMP",
            "updated_at": "TIMESTAMP",
        }
    second = plan.has_new_schema(index)
    columns = {
        "order_id": "BIGINT",
        "user_id": "BIGINT",
        "status": "STRING",
        "amount": "DECIMAL(12, 2)" if second else "DECIMAL(10, 2)",
        "created_at": "TIMESTAMP",
        "updated_at": "TIMESTAMP",
    }
    return {**columns, "coupon": "STRING"} if second else columns
