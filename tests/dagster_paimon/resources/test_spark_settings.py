"""The settings of the sessions of ``SparkResource``."""

from __future__ import annotations

import sys

from dagster_paimon.resources.spark import SparkMode, SparkResource

SETTING = "spark.python.daemon.module"


def test_only_local_sessions_with_this_python_use_the_daemon_by_default() -> None:
    own = {"PYSPARK_PYTHON": sys.executable}
    assert (
        SparkResource().settings({})[SETTING] == SparkResource().settings(own)[SETTING] == "table_format.spark.daemon"
    )
    assert SparkResource(conf={SETTING: "mine"}).settings(own)[SETTING] == "mine"
    assert SETTING not in SparkResource().settings({"PYSPARK_PYTHON": "/other/python3"})
    for mode in (SparkMode.master, SparkMode.connect):
        assert SETTING not in SparkResource(mode=mode).settings(own)
