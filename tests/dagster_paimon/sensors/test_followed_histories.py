"""A bounded search for changes that sensors and assets overlook; ``followed_histories`` searches for longer."""

from __future__ import annotations

import pytest

from tests.dagster_paimon.sensors.followed_histories import search
from tests.support.searches import bounded_search

pytestmark = pytest.mark.dagster


def test_sensors_and_assets_overlook_no_change_and_report_none_twice() -> None:
    tables, seen = bounded_search(search, 6)
    assert seen["compared"] > 2 * tables
    assert seen["complete runs"] < seen["runs"]
    assert seen["looks at all"] < seen["looks at a column"]
