from __future__ import annotations

import pytest

from table_format.metastore.snapshot.expiry_notices import ExpiryNotices
from tests.support.metastore_table import a_table


@pytest.fixture
def table():
    table = a_table()
    for identifier in range(4):
        table.append(identifier=identifier)
    return table


def ends(notices: ExpiryNotices) -> list[int]:
    return [notice.end for notice in notices.all()]


def test_two_expiries_have_a_notice_each(table):
    notices = table.snapshots.notices
    assert notices.announce(3) != notices.announce(3)
    assert ends(notices) == [3, 3]


def test_a_notice_beyond_the_latest_snapshot_is_ignored(table):
    notices = table.snapshots.notices
    notices.announce(5)
    notices.announce(4)
    assert ends(notices) == [4]


def test_only_notices_of_snapshots_that_are_gone_are_withdrawn(table):
    notices = table.snapshots.notices
    for end in (4, 2, 3):
        notices.announce(end)
    notices.withdraw_up_to(3)
    assert ends(notices) == [4]


def test_notices_of_ids_that_are_used_again_are_withdrawn(table):
    notices = table.snapshots.notices
    for end in (4, 2, 3):
        notices.announce(end)
    notices.withdraw_after(2)
    assert ends(notices) == [2]
