"""Selects the Python that runs tasks: in a local session the same as the driver. Explains missing packages.

Spark's workers run ``python3`` from the path unless PYSPARK_PYTHON names another one. If the virtual environment of the
driver is not activated, that Python lacks the packages. On a cluster, only its users know the right path.
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
"""The packages that this library imports in tasks."""


def is_local(spark: SparkSession) -> bool:
    """Return whether tasks of a classic session run on the machine of the driver, started by its JVM."""
    return _LOCAL.match(cast("str", spark.sparkContext.master)) is not None


def use_own_python(spark: SparkSession) -> None:
    """Run the tasks of a local classic session with this Python, unless PYSPARK_PYTHON names another one."""
    if _SETTING not in os.environ and is_local(spark):
        spark.sparkContext.pythonExec = sys.executable


def explain_missing_packages() -> None:
    """Raise ``PackageMissing`` if the Python of a task lacks a package, from now on."""
    explain_errors(missing_package)


def missing_package(text: str) -> PackageMissing | None:
    """Return the error for the text of a Spark error, if a task did not find a package of this library.

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
