"""A bounded search for changes that sensors and assets overlook; ``followed_histories`` searches for longer."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.dagster_paimon.sensors.followed_histories import search

pytestmark = pytest.mark.dagster

TABLES = int(os.environ.get("FOLLOWED_TABLES", "6"))


def test_sensors_and_assets_overlook_no_change_and_report_none_twice() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1, TABLES + 1):
        seen += search(seed)
    assert seen["compared"] > 2 * TABLES
    assert seen["complete runs"] < seen["runs"]
    assert seen["looks at all"] < seen["looks at a column"]
