"""Gives the code of this library to Spark's workers, so that nobody has to install it there by hand.

In a local session the workers import it from where the driver does. Elsewhere the package travels once for each
session: by ``addPyFile`` on a classic session, as an artifact through Spark Connect.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import table_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARCHIVE: Final = "table_format.zip"
_MARK: Final = "spark.table_format.shipped"


def ship_code(spark: SparkSession) -> None:
    """Make ``import table_format`` work in the session's tasks; the second call does nothing."""
    if spark.conf.get(_MARK, "false") == "true":
        return
    if is_connect(spark):
        spark.addArtifacts(str(_archive()), pyfile=True)
    elif not cast("str", spark.sparkContext.master).startswith("local"):
        spark.sparkContext.addPyFile(str(_archive()))
    spark.conf.set(_MARK, "true")


def is_connect(spark: SparkSession) -> bool:
    """Whether the session speaks to a server instead of owning a JVM."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _archive() -> Path:
    package = Path(table_format.__file__).parent
    target = Path(tempfile.mkdtemp(prefix="table-format-")) / _ARCHIVE
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            archive.write(source, source.relative_to(package.parent))
    return target
