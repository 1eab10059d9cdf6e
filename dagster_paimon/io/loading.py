"""Loads a planned scan as the annotated type of frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from dagster_paimon.io.frames import FrameType
from dagster_paimon.resources.spark import SparkResource
from table_format import Scan
from table_format.errors import InvalidInputError, PackageMissing
from table_format.extras import require

_PACKAGES: Final = {
    FrameType.pyspark: "pyspark",
    FrameType.pandas: "pandas",
    FrameType.polars: "polars",
    FrameType.polars_lazy: "polars",
    FrameType.duckdb: "duckdb",
}
"""The package of a frame type, if an extra installs it."""


def require_package(wanted: FrameType) -> None:
    """Import the package of a frame type.

    Raises:
        InvalidInputError: the package is not installed; the message names the extra that installs it.
    """
    package = _PACKAGES.get(wanted)
    if package is None:
        return
    try:
        require(package)
    except PackageMissing as error:
        message = f"a frame of type {wanted} cannot be created: {error}"
        raise InvalidInputError(message) from error


def load(scan: Scan, wanted: FrameType, spark: SparkResource) -> Any:  # noqa: ANN401 - the frame of the annotation
    """Return the rows of a planned scan.

    Spark frames and RecordBatchReaders are lazy. A DuckDB relation belongs to DuckDB's default connection, so that
    several can be joined.

    Raises:
        InvalidInputError: the package of the frame is not installed.
    """
    require_package(wanted)
    if wanted is FrameType.pyspark:
        return _spark_frame(scan, spark)
    if wanted is FrameType.record_batch_reader:
        return scan.to_reader()
    return _FROM_ARROW[wanted](scan.to_arrow())


def load_nothing(wanted: FrameType, spark: SparkResource) -> Any:  # noqa: ANN401 - the frame of the annotation
    """Return a frame without columns and rows, for a table that does not exist yet."""
    require_package(wanted)
    empty = pa.table({})
    if wanted is FrameType.pyspark:
        from pyspark.sql.types import StructType

        return spark.session().createDataFrame([], StructType([]))
    return empty.to_reader() if wanted is FrameType.record_batch_reader else _FROM_ARROW[wanted](empty)


def _spark_frame(scan: Scan, spark: SparkResource) -> Any:  # noqa: ANN401 - pyspark may be missing
    from table_format.spark.engine import frame_of, ship_code

    session = spark.session()
    ship_code(session)
    return frame_of(session, scan.facts, scan.plan())


def _dataset(table: pa.Table) -> Any:  # noqa: ANN401 - importing pyarrow.dataset imports pandas
    from pyarrow.dataset import dataset

    return dataset(table)


def _polars(table: pa.Table) -> Any:  # noqa: ANN401 - polars may be missing
    import polars

    return polars.from_arrow(table)


def _duckdb(table: pa.Table) -> Any:  # noqa: ANN401 - duckdb may be missing
    import duckdb

    duckdb.execute("SET enable_progress_bar = false")  # in the process of a step, it would be written into the log
    return duckdb.from_arrow(table)


_FROM_ARROW: Final[Mapping[FrameType, Callable[[pa.Table], Any]]] = {
    FrameType.pyarrow: lambda table: table,
    FrameType.dataset: _dataset,
    FrameType.pandas: lambda table: table.to_pandas(),
    FrameType.polars: _polars,
    FrameType.polars_lazy: lambda table: _polars(table).lazy(),
    FrameType.duckdb: _duckdb,
}
