"""One session for all tests, and a separate warehouse for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.spark.lakes")

from tests.queries.sessions import settings_of  # noqa: E402
from tests.spark.lakes import TestLake, a_lake  # noqa: E402
from tests.support.spark_session import INTERPRETED, local_session  # noqa: E402


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = local_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def interpreted(spark: Any) -> Iterator[None]:
    """Spark interprets its plans and plans once, for files of many small statements.

    Tests of how Spark reads tables and runs queries do not use it, nor those of ``spark.catalog``, whose rows Spark
    cannot decode without compiled code.
    """
    with settings_of(spark, INTERPRETED):
        yield


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> TestLake:
    return a_lake(spark, tmp_path / "warehouse")
