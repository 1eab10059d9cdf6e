"""The settings of the sessions of ``SparkResource``."""

from __future__ import annotations

import sys
from typing import Any

import dagster as dg
import pytest
from pydantic import ValidationError

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


@pytest.mark.parametrize(
    ("mode", "other"),
    [
        ("local", {"remote": "sc://spark:15002"}),
        ("local", {"remote": dg.EnvVar("SPARK_URL")}),
        ("master", {"remote": "sc://spark:15002"}),
        ("connect", {"master": "spark://spark:7077"}),
        ("connect", {"driver_memory": "8g"}),
        ("connect", {"ui": True}),
    ],
)
def test_a_field_without_effect_in_the_mode_is_refused_by_name(mode: str, other: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=f"{next(iter(other))}: no effect in mode {mode}"):
        SparkResource(mode=SparkMode(mode), **other)
