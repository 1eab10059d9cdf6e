"""Sends the code of this library to Spark's workers, so that it need not be installed there.

In a local session, the workers import it from the same path as the driver. Otherwise, the package is sent once for each
session: with ``addPyFile`` in a classic session, as an artifact with Spark Connect. Sessions of one application share
the names of what is sent, so the name of the package tells its content.
"""

from __future__ import annotations

import atexit
import py_compile
import shutil
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import TYPE_CHECKING, Final

import table_format
from table_format.spark.tasks.worker_python import is_local, use_own_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MARK: Final = "spark.table_format.shipped"
_PREFIX: Final = "table-format-"

_WITH_MACHINE_CODE: Final = frozenset({Path("table_format/kernels/compiled.py")})
"""Modules whose machine code numba caches. It finds the cache by the path of the source, so they are imported from
source.
"""


def ship_code(spark: SparkSession) -> None:
    """Make ``import table_format`` work in the tasks of a session. A second call has no effect."""
    if is_prepared(spark):
        return
    if is_connect(spark):
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as directory:
            spark.addArtifacts(str(_archive(Path(directory))), pyfile=True)
    elif is_local(spark):
        use_own_python(spark)
    else:
        spark.sparkContext.addPyFile(str(_archive(_kept_directory())))
    spark.conf.set(_MARK, "true")


def is_prepared(spark: SparkSession) -> bool:
    """Return whether ``ship_code`` was called for the session."""
    return spark.conf.get(_MARK, "false") == "true"


def is_connect(spark: SparkSession) -> bool:
    """Return whether the session is connected to a server instead of a local JVM."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _kept_directory() -> Path:
    """Return a directory that is deleted when this process ends. Executors that start later load the archive too."""
    directory = tempfile.mkdtemp(prefix=_PREFIX)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def _archive(directory: Path) -> Path:
    """Write the package as an archive from which Python can import, whose name has a digest of its content.

    It contains compiled modules, because Python does not cache modules that it compiles from an archive, and each
    worker would compile all of them. Other Python versions use the source.
    """
    package = Path(table_format.__file__).parent
    made, compiled = directory / "made.zip", directory / "compiled.pyc"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            name = source.relative_to(package.parent)
            archive.write(source, name)
            if name in _WITH_MACHINE_CODE:
                continue
            unchecked = PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(compiled), str(name), doraise=True, invalidation_mode=unchecked)
            archive.write(compiled, name.with_suffix(".pyc"))
    compiled.unlink()
    return made.rename(directory / f"table_format-{sha256(made.read_bytes()).hexdigest()[:16]}.zip")
