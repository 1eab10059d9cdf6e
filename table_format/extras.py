"""Optional packages, each with the extra of this project that installs it."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from table_format.errors import PackageMissing

EXTRAS: Final = {
    "click": "cli",
    "dagster": "dagster",
    "duckdb": "duckdb",
    "grpc": "connect",
    "obstore": "s3",
    "pandas": "pandas",
    "polars": "polars",
    "psycopg": "jdbc",
    "pymysql": "jdbc",
    "pyspark": "spark",
    "rich": "cli",
    "sqlalchemy": "jdbc",
    "thriftpy2": "hive",
    "urllib3": "hdfs",
}


def require(package: str) -> Any:  # noqa: ANN401 - a module
    """Import an optional package.

    >>> require("pandas").__name__
    'pandas'

    Raises:
        PackageMissing: the package is not installed; the message names the extra.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise _missing(package) from error


def require_installed(package: str, extra: str | None = None) -> None:
    """Check that an optional package is installed, without importing it. ``extra`` is that of the error.

    Raises:
        PackageMissing: it is not; the message names the extra.
    """
    try:
        found = package in sys.modules or find_spec(package) is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise _missing(package, extra)


def _missing(package: str, extra: str | None = None) -> PackageMissing:
    return PackageMissing(f"{package} is not installed: pip install 'paimon-lakehouse[{extra or EXTRAS[package]}]'")
