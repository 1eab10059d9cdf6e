"""Orders: created, paid, shipped, cancelled, deleted.

The events of an order are a pure function of its id, so the events of one day are those of the orders created on that
day and on the few days before it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from assets.feed.chance import Floats, Ints, Truths, Words, between, chance, favourite
from assets.feed.plan import DAY_MS, FeedPlan, start_of_day_ms
from assets.feed.users import user_ids_before

ORDERS_PER_EVENT: Final = 0.3
_IDS_PER_DAY: Final = 100_000_000
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 3_600_000
_SLIP_CENTS: Final = 10_000_000_000
"""100 million: an amount that DECIMAL(10, 2) of the first schema cannot represent."""
_COUPONS: Final = np.array([None, "WELCOME10", "SPRING25", "FREESHIP"], dtype=object)


def order_events(plan: FeedPlan, index: int) -> pa.Table:
    """Return all events, on that day and later, of the orders created on one day.

    Columns: ``op``, ``ts_ms``, then the row after the event: ``order_id, user_id, status, cents, created_ms, coupon``.
    """
    count = max(1, int(plan.events_per_day * ORDERS_PER_EVENT))
    ids = (index + 1) * _IDS_PER_DAY + np.arange(count, dtype=np.int64)

    def draw(what: str) -> Floats:
        return chance(plan.seed, f"orders/{what}", ids)

    created = start_of_day_ms(index) + between(0, DAY_MS, draw("created"))
    paid = created + between(_MINUTE_MS, 6 * _HOUR_MS, draw("paid"))
    shipped = paid + between(2 * _HOUR_MS, 36 * _HOUR_MS, draw("shipped"))
    cancelled = created + between(2 * _MINUTE_MS, 4 * _HOUR_MS, draw("cancelled"))

    slips = _slips(plan, index, count)
    is_cancelled = (draw("is cancelled") < 0.08) | slips
    is_paid = ~is_cancelled & (draw("is paid") < 0.95)
    is_shipped = is_paid & (draw("is shipped") < 0.9)
    last = np.select([is_shipped, is_paid, is_cancelled], [shipped, paid, cancelled], default=created)
    deleted = last + between(_MINUTE_MS, 12 * _HOUR_MS, draw("deleted"))

    users = user_ids_before(plan, index)
    rows = pa.table(
        {
            "order_id": ids,
            "user_id": users[favourite(len(users), draw("user"))],
            "cents": _cents(draw("amount")) + np.where(slips, _SLIP_CENTS, 0),
            "created_ms": created,
            "coupon": pa.array(_coupons(plan, index, draw("coupon")), pa.string()),
        }
    )
    return pa.concat_tables(
        [
            _step("c", "created", created, np.ones(count, dtype=bool), rows),
            _step("u", "paid", paid, is_paid, rows),
            _step("u", "shipped", shipped, is_shipped, rows),
            _step("u", "cancelled", cancelled, is_cancelled, rows),
            _step("d", "deleted", deleted, draw("is deleted") < plan.delete_share, rows),
        ]
    )


def _step(op: str, status: str, when: Ints, happens: Truths, rows: pa.Table) -> pa.Table:
    chosen = rows.filter(pa.array(happens))
    return (
        chosen.add_column(0, "op", pa.repeat(op, chosen.num_rows))
        .add_column(1, "ts_ms", pa.array(when[happens]))
        .add_column(2, "status", pa.repeat(status, chosen.num_rows))
    )


def _cents(numbers: Floats) -> Ints:
    """Return many small amounts and few large ones, up to 1,250.00."""
    fourth = numbers * numbers * numbers * numbers
    return between(250, 5_000, numbers) + np.floor(fourth * fourth * 120_000).astype(np.int64)


def _slips(plan: FeedPlan, index: int, count: int) -> Truths:
    """Select one order a day with a mistyped amount, which is cancelled. Only the second schema can represent it."""
    slips = np.zeros(count, dtype=bool)
    slips[0] = plan.has_new_schema(index)
    return slips


def _coupons(plan: FeedPlan, index: int, numbers: Floats) -> Words:
    if not plan.has_new_schema(index):
        return np.full(len(numbers), None, dtype=object)
    return _COUPONS[np.where(numbers < 0.8, 0, between(1, len(_COUPONS), (numbers - 0.8) * 5))]
