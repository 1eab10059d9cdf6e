from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.metastore.expiry.kept_snapshots import nearest_before
from table_format.metastore.expiry.retention import Retention, default_retain_floor_ms, expiry_range
from table_format.options.commit import CommitOptions

MANY = 2_147_483_647


def verdict(*, minimum=1, maximum=MANY, older=10_000, floor=10_000, limit=50, first=1, last=10, needed=None, gone=()):
    rules = Retention(retain_min=minimum, retain_max=maximum, older_than_ms=older, floor_ms=floor, limit=limit)
    found = expiry_range(
        rules,
        earliest=first,
        latest=last,
        time_of=lambda i: None if i in gone else 100 * i,
        first_needed=needed,
    )
    return found.end, found.kept_by


@pytest.mark.parametrize(
    ("facts", "end", "reason"),
    [
        ({}, 10, "number of snapshots retained at least"),
        ({"minimum": 3}, 8, "number of snapshots retained at least"),
        ({"minimum": 20}, 1, "number of snapshots retained at least"),
        ({"limit": 4}, 5, "limit"),
        ({"first": 3, "limit": 4}, 7, "limit"),
        # The snapshot before the needed one stays too.
        ({"needed": 4}, 3, "consumer"),
        ({"needed": 1}, 1, "consumer"),
        # The successor's age counts: 5 is older than 550, so 4 may go, and 5 stays since 6 is not.
        ({"older": 550}, 5, "time retained"),
        ({"older": 500}, 4, "time retained"),
        ({"older": 501}, 5, "time retained"),
        ({"older": 0}, 1, "time retained"),
        # More than the maximum go whatever their age, down to the floor.
        ({"older": 0, "maximum": 4}, 7, "time retained"),
        ({"older": 850, "maximum": 4}, 8, "time retained"),
        ({"older": 0, "maximum": 4, "floor": 350}, 4, "retain floor"),
        ({"floor": 300}, 3, "retain floor"),
        ({"floor": 0}, 1, "retain floor"),
        ({"older": 550, "gone": (6,)}, 6, "time retained"),
        ({"first": 10}, 10, "number of snapshots retained at least"),
    ],
)
def test_the_end_of_an_expiry_follows_from_its_rules(facts, end, reason):
    found = verdict(**facts)
    assert found[0] == end
    assert reason in found[1]


@pytest.mark.parametrize(
    ("maximum", "floor", "limit", "needed", "beyond"),
    [
        (4, 10_000, 50, None, 0),
        (4, 350, 50, None, 3),
        (4, 650, 50, None, 0),
        # What the limit or a consumer keeps in any case is not counted.
        (4, 350, 4, None, 1),
        (4, 350, 50, 2, 0),
        (MANY, 0, 50, None, 0),
    ],
)
def test_snapshots_that_the_retain_floor_keeps_above_the_maximum_are_counted(maximum, floor, limit, needed, beyond):
    rules = Retention(retain_min=1, retain_max=maximum, older_than_ms=10_000, floor_ms=floor, limit=limit)
    found = expiry_range(rules, earliest=1, latest=10, time_of=lambda i: 100 * i, first_needed=needed)
    assert found.beyond_max == beyond


def test_rules_that_contradict_each_other_are_refused():
    for bounds in ({"minimum": 0}, {"minimum": 5, "maximum": 4}, {"limit": 0}):
        with pytest.raises(InvalidOption):
            verdict(**bounds)


def test_the_floor_is_above_what_a_writer_may_take():
    options = CommitOptions()
    assert default_retain_floor_ms(options) == 15 * 60_000 > options.attempt_ms + options.request_ms


@pytest.mark.parametrize(
    ("tags", "ids", "nearest"),
    [
        ({}, range(1, 9), []),
        ({"a": 3}, range(1, 4), []),
        ({"a": 3}, range(1, 5), ["a"]),
        ({"a": 3, "b": 4, "c": 8}, range(5, 8), ["b"]),
        ({"a": 3, "a2": 3}, range(4, 5), ["a2"]),
    ],
)
def test_the_nearest_tag_before_a_snapshot_protects_its_files(tags, ids, nearest):
    assert list(nearest_before(tags, ids)) == nearest
