"""Gives the code of this library to Spark's workers, so that nobody has to install it there by hand.

In a local session the workers import it from where the driver does. Elsewhere the package travels once for each
session: by ``addPyFile`` on a classic session, as an artifact through Spark Connect.
"""

from __future__ import annotations

import py_compile
import tempfile
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import TYPE_CHECKING, Final

import table_format
from table_format.spark.tasks.worker_python import is_local, use_own_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARCHIVE: Final = "table_format.zip"
_MARK: Final = "spark.table_format.shipped"

_WITH_MACHINE_CODE: Final = frozenset({Path("table_format/kernels/compiled.py")})
"""Modules whose machine code numba keeps, which it finds by the path of the source that only an import from it has."""


def ship_code(spark: SparkSession) -> None:
    """Make ``import table_format`` work in the session's tasks; the second call does nothing."""
    if is_prepared(spark):
        return
    if is_connect(spark):
        spark.addArtifacts(str(_archive()), pyfile=True)
    elif is_local(spark):
        use_own_python(spark)
    else:
        spark.sparkContext.addPyFile(str(_archive()))
    spark.conf.set(_MARK, "true")


def is_prepared(spark: SparkSession) -> bool:
    """Whether ``ship_code`` was called for the session."""
    return spark.conf.get(_MARK, "false") == "true"


def is_connect(spark: SparkSession) -> bool:
    """Whether the session speaks to a server instead of owning a JVM."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _archive() -> Path:
    """The package as a file that Python imports from.

    It is compiled, as Python keeps nothing of what it compiles from an archive: each worker would compile all of it. A
    Python for which it was not compiled takes the source.
    """
    package = Path(table_format.__file__).parent
    directory = Path(tempfile.mkdtemp(prefix="table-format-"))
    target, compiled = directory / _ARCHIVE, directory / "compiled.pyc"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            name = source.relative_to(package.parent)
            archive.write(source, name)
            if name in _WITH_MACHINE_CODE:
                continue
            unchecked = PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(compiled), str(name), doraise=True, invalidation_mode=unchecked)
            archive.write(compiled, name.with_suffix(".pyc"))
    compiled.unlink()
    return target
