"""A planned scan as the frame an input is annotated with."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from dagster_paimon.io.frames import FrameType
from dagster_paimon.resources.spark import SparkResource
from table_format.errors import InvalidInputError
from table_format.table.read.scan import Scan

_PACKAGES: Final = {
    FrameType.pyspark: ("pyspark", "pyspark"),
    FrameType.pandas: ("pandas", "pandas"),
    FrameType.polars: ("polars", "paimon-lakehouse[frames]"),
    FrameType.polars_lazy: ("polars", "paimon-lakehouse[frames]"),
    FrameType.duckdb: ("duckdb", "duckdb"),
}
"""The package that a frame comes from, and what to install for it."""


def require_package(wanted: FrameType) -> None:
    """Import what frames of that type come from.

    Raises:
        InvalidInputError: it is not installed; says what to install.
    """
    package, install = _PACKAGES.get(wanted, ("pyarrow", "pyarrow"))
    try:
        importlib.import_module(package)
    except ImportError as error:
        message = (
            f"a frame of type {wanted} needs the package {package}, which is not installed: pip install '{install}'"
        )
        raise InvalidInputError(message) from error


def load(scan: Scan, wanted: FrameType, spark: SparkResource, *, columns: Sequence[str] | None = None) -> Any:  # noqa: ANN401 - the frame of the annotation
    """The rows of a planned scan, with these ``columns`` of it or with all.

    Of a Spark frame or a RecordBatchReader nothing is read before it is used.

    A duckdb relation belongs to duckdb's default connection, so that several can be joined.

    Raises:
        InvalidInputError: the package of the frame is not installed.
    """
    require_package(wanted)
    if wanted is FrameType.pyspark:
        return _spark_frame(scan, spark, columns)
    if wanted is FrameType.record_batch_reader:
        return scan.to_reader()
    return _FROM_ARROW[wanted](scan.to_arrow())


def load_nothing(wanted: FrameType, spark: SparkResource) -> Any:  # noqa: ANN401 - the frame of the annotation
    """A frame without columns and rows, for a table that does not exist yet."""
    require_package(wanted)
    empty = pa.table({})
    if wanted is FrameType.pyspark:
        from pyspark.sql.types import StructType

        return spark.session().createDataFrame([], StructType([]))
    return empty.to_reader() if wanted is FrameType.record_batch_reader else _FROM_ARROW[wanted](empty)


def _spark_frame(scan: Scan, spark: SparkResource, columns: Sequence[str] | None) -> Any:  # noqa: ANN401 - pyspark may be missing
    from table_format.spark.names import column
    from table_format.spark.read.frames import frame_of
    from table_format.spark.tasks.code_shipping import ship_code

    session = spark.session()
    ship_code(session)
    frame = frame_of(session, scan.facts, scan.plan())
    return frame if columns is None else frame.select(*map(column, columns))


def _dataset(table: pa.Table) -> Any:  # noqa: ANN401 - importing pyarrow.dataset imports pandas
    from pyarrow.dataset import dataset

    return dataset(table)


def _polars(table: pa.Table) -> Any:  # noqa: ANN401 - polars may be missing
    import polars

    return polars.from_arrow(table)


def _duckdb(table: pa.Table) -> Any:  # noqa: ANN401 - duckdb may be missing
    import duckdb

    return duckdb.from_arrow(table)


_FROM_ARROW: Final[Mapping[FrameType, Callable[[pa.Table], Any]]] = {
    FrameType.pyarrow: lambda table: table,
    FrameType.dataset: _dataset,
    FrameType.pandas: lambda table: table.to_pandas(),
    FrameType.polars: _polars,
    FrameType.polars_lazy: lambda table: _polars(table).lazy(),
    FrameType.duckdb: _duckdb,
}
