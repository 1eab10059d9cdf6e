"""Which Python runs tasks, and what an error says about one that lacks packages; without a session."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from table_format.spark.tasks.worker_python import missing_package, use_own_python

PYARROW = "[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found."
OWN = "  File ...\nModuleNotFoundError: No module named 'fastavro.schema'\n\n\tat org.apache.spark..."


def session(master: str) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec="python3"))


@pytest.mark.parametrize(
    ("master", "is_own"),
    [("local", True), ("local[2]", True), ("local-cluster[2,1,512]", False), ("spark://a:7077", False)],
)
def test_tasks_of_a_local_session_run_the_python_of_the_driver(
    master: str, is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    spark = session(master)
    use_own_python(spark)
    assert spark.sparkContext.pythonExec == (sys.executable if is_own else "python3")


def test_a_python_set_by_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    spark = session("local[2]")
    use_own_python(spark)
    assert spark.sparkContext.pythonExec == "python3"


@pytest.mark.parametrize(("text", "package"), [(PYARROW, "pyarrow"), (OWN, "fastavro")])
def test_the_error_names_a_package_that_tasks_lack(text: str, package: str) -> None:
    error = missing_package(text)
    assert error is not None
    assert f"lacks the package '{package}': set PYSPARK_PYTHON" in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("text", ["No module named 'pyarrow'", "ModuleNotFoundError: No module named 'shop'", "other"])
def test_other_errors_are_unchanged(text: str) -> None:
    assert missing_package(text) is None
