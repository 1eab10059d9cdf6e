"""Assets on Spark Connect, which has no local JVM or context, behave as in a classic session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.connect_process import needs_connect, printed_through_connect

pytestmark = [pytest.mark.dagster, pytest.mark.spark]

EXPECTED = """\
replaced [('2026-03-01', 2), ('2026-03-02', 1)]
read pyspark.sql.connect.dataframe [dict_items([('n', 3)])]
refused lab.readings: the frame has rows of dt = 2026-03-03, which are not among the run's partitions (2026-03-01); \
nothing was written
upserted [('2026-03-01', 1), ('2026-03-02', 2, 1)]
kept [{'id': 1}, {'id': 2}]
"""


@needs_connect
def test_assets_are_replaced_read_refused_and_upserted_through_connect(tmp_path: Path) -> None:
    assert printed_through_connect("tests.dagster_paimon.io.connect_session", tmp_path) == EXPECTED
