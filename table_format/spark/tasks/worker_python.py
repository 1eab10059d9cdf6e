"""The Python that runs tasks: this very one in a local session, and an error of one line where it lacks a package.

Spark's workers run ``python3`` from the path unless PYSPARK_PYTHON names another one. That is a Python without the
packages wherever the virtual environment of the driver is not activated. On a cluster only its users know what lies
where.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final, cast

from table_format.errors import PackageMissing
from table_format.spark.tasks.explained_errors import explain_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTING: Final = "PYSPARK_PYTHON"
_LOCAL: Final = re.compile(r"local(?:\[|$)")
_NO_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_NOT_INSTALLED: Final = re.compile(r"\[PACKAGE_NOT_INSTALLED\] (\w+)")
_PACKAGES: Final = frozenset(
    {"pyarrow", "numpy", "fastavro", "zstandard", "cramjam", "pyroaring", "datasketches", "xxhash", "duckdb", "pandas"}
)
"""What the library imports in tasks."""


def is_local(spark: SparkSession) -> bool:
    """Whether tasks of a classic session run on the driver's machine, started by its JVM."""
    return _LOCAL.match(cast("str", spark.sparkContext.master)) is not None


def use_own_python(spark: SparkSession) -> None:
    """Let the tasks of a local, classic session run this Python, unless PYSPARK_PYTHON names one."""
    if _SETTING not in os.environ and is_local(spark):
        spark.sparkContext.pythonExec = sys.executable


def explain_missing_packages() -> None:
    """From now on let errors of tasks about packages that their Python lacks be ``PackageMissing``."""
    explain_errors(missing_package)


def missing_package(text: str) -> PackageMissing | None:
    """The error for the text of one of Spark, if a task did not find a package of this library.

    >>> print(missing_package("... ModuleNotFoundError: No module named 'pyarrow'"))
    the Python that runs Spark's tasks lacks the package 'pyarrow': set PYSPARK_PYTHON to one that has what \
docs/cluster.md lists, before the session is started
    """
    found = _NO_MODULE.search(text) or _NOT_INSTALLED.search(text)
    if found is None or found.group(1).lower() not in _PACKAGES:
        return None
    message = (
        f"the Python that runs Spark's tasks lacks the package '{found.group(1).lower()}': set {_SETTING} to one that "
        "has what docs/cluster.md lists, before the session is started"
    )
    return PackageMissing(message)
