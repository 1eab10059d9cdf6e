"""Users: an initial population, some new users every day, changes with hot keys, and deletes."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from assets.feed.chance import Floats, Ints, between, chance, favourite
from assets.feed.plan import DAY_MS, FeedPlan, start_of_day_ms

USERS_AT_START_PER_EVENT: Final = 0.05
NEW_USERS_PER_EVENT: Final = 0.02
CHANGES_PER_EVENT: Final = 0.15
_HOUR_MS: Final = 3_600_000
_CHANGES_OF_A_DAY: Final = 100_000_000
_NEVER: Final = 2**62
_FIRST_NAMES: Final = np.array(["Ada", "Bo", "Chen", "Dara", "Emil", "Fatou", "Gita", "Hugo", "Ines", "Jun"])
_LAST_NAMES: Final = np.array(["Abe", "Berg", "Costa", "Diaz", "Evans", "Fujita", "Gomez", "Haas", "Ito", "Jansen"])
_CITIES: Final = np.array(["Berlin", "Chengdu", "Dakar", "Hangzhou", "Lagos", "Lima", "Oslo", "Porto", "Pune", "Quito"])
_TIERS: Final = np.array(["bronze", "silver", "gold"])


def user_ids_before(plan: FeedPlan, index: int) -> Ints:
    """Return the ids of all users created before that day, including deleted ones and the initial population."""
    return np.arange(1, _at_start(plan) + index * _new_per_day(plan) + 1, dtype=np.int64)


def user_events(plan: FeedPlan, index: int) -> pa.Table:
    """Return the events of one day. Columns: ``op``, ``ts_ms``, then ``user_id, name, city, tier, created_ms``."""
    return pa.concat_tables([_created_on(plan, index), _changed_on(plan, index), _deleted_on(plan, index)])


def _at_start(plan: FeedPlan) -> int:
    return max(10, int(plan.events_per_day * USERS_AT_START_PER_EVENT))


def _new_per_day(plan: FeedPlan) -> int:
    return max(1, int(plan.events_per_day * NEW_USERS_PER_EVENT))


def _birth_index(plan: FeedPlan, ids: Ints) -> Ints:
    return np.maximum(0, (ids - _at_start(plan) - 1) // _new_per_day(plan))


def _birth_ms(plan: FeedPlan, ids: Ints) -> Ints:
    """Return when users were created. The initial population is created in the first hour of the first day."""
    numbers = chance(plan.seed, "users/created", ids)
    within = np.where(ids <= _at_start(plan), between(0, _HOUR_MS, numbers), between(_HOUR_MS, DAY_MS, numbers))
    return start_of_day_ms(0) + _birth_index(plan, ids) * DAY_MS + within


def _death_ms(plan: FeedPlan, ids: Ints) -> Ints:
    days = 1 + between(0, 20, chance(plan.seed, "users/days", ids))
    within = between(_HOUR_MS, DAY_MS, chance(plan.seed, "users/deleted", ids))
    when = start_of_day_ms(0) + (_birth_index(plan, ids) + days) * DAY_MS + within
    return np.where(chance(plan.seed, "users/is deleted", ids) < plan.delete_share, when, _NEVER)


def _created_on(plan: FeedPlan, index: int) -> pa.Table:
    last = _at_start(plan) + (index + 1) * _new_per_day(plan)
    first = 1 if index == 0 else last - _new_per_day(plan) + 1
    ids = np.arange(first, last + 1, dtype=np.int64)
    return _rows(plan, "c", _birth_ms(plan, ids), ids, versions=ids)


def _changed_on(plan: FeedPlan, index: int) -> pa.Table:
    count = int(plan.events_per_day * CHANGES_PER_EVENT)
    versions = (index + 1) * _CHANGES_OF_A_DAY + np.arange(count, dtype=np.int64)
    candidates = user_ids_before(plan, index)
    ids = candidates[favourite(len(candidates), chance(plan.seed, "users/who", versions))]
    when = start_of_day_ms(index) + between(_HOUR_MS, DAY_MS, chance(plan.seed, "users/when", versions))
    alive = when < _death_ms(plan, ids)
    return _rows(plan, "u", when[alive], ids[alive], versions=versions[alive])


def _deleted_on(plan: FeedPlan, index: int) -> pa.Table:
    ids = user_ids_before(plan, index)
    when = _death_ms(plan, ids)
    today = (when >= start_of_day_ms(index)) & (when < start_of_day_ms(index + 1))
    return _rows(plan, "d", when[today], ids[today], versions=ids[today])


def _rows(plan: FeedPlan, op: str, when: Ints, ids: Ints, *, versions: Ints) -> pa.Table:
    """Return the rows after an event. The name depends on the user, city and tier on the version of the row."""

    def draw(what: str, key: Ints) -> Floats:
        return chance(plan.seed, f"users/{what}", key)

    first = _FIRST_NAMES[between(0, len(_FIRST_NAMES), draw("first name", ids))]
    last = _LAST_NAMES[between(0, len(_LAST_NAMES), draw("last name", ids))]
    return pa.table(
        {
            "op": pa.repeat(op, len(ids)),
            "ts_ms": when,
            "user_id": ids,
            "name": pa.array([f"{a} {b}" for a, b in zip(first, last, strict=True)], pa.string()),
            "city": pa.array(_CITIES[between(0, len(_CITIES), draw("city", versions))], pa.string()),
            "tier": pa.array(_TIERS[favourite(len(_TIERS), draw("tier", versions))], pa.string()),
            "created_ms": _birth_ms(plan, ids),
        }
    )
