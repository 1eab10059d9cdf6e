"""Recognizes the frames that assets take and return, without importing their packages.

``SparkFrame`` is the annotation for a Spark frame: for type checkers it is ``pyspark.sql.DataFrame``; at run time it
is a stand-in whose ``isinstance`` checks the real class, the parent of classic and Connect frames, once it is
imported.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkFrame
else:

    class _SparkFrameType(type):
        def __instancecheck__(cls, value: object) -> bool:
            pyspark = sys.modules.get("pyspark.sql")
            return pyspark is not None and isinstance(value, pyspark.DataFrame)

    class SparkFrame(metaclass=_SparkFrameType):
        """A Spark DataFrame, classic or Connect."""


__all__ = ["FrameType", "SparkFrame", "allows_none", "frame_type_of", "known_types"]


class FrameType(StrEnum):
    """The type of frame for a loaded table. Dagster shows the names, so they are in lower case."""

    pyspark = "pyspark"
    pyarrow = "pyarrow"
    record_batch_reader = "record_batch_reader"
    dataset = "dataset"
    pandas = "pandas"
    polars = "polars"
    polars_lazy = "polars_lazy"
    duckdb = "duckdb"


_CLASSES: Final[Mapping[tuple[str, str], FrameType]] = {
    ("pyspark", "DataFrame"): FrameType.pyspark,
    ("dagster_paimon", "SparkFrame"): FrameType.pyspark,
    ("pyarrow", "Table"): FrameType.pyarrow,
    ("pyarrow", "RecordBatchReader"): FrameType.record_batch_reader,
    ("pyarrow", "Dataset"): FrameType.dataset,
    ("pandas", "DataFrame"): FrameType.pandas,
    ("polars", "DataFrame"): FrameType.polars,
    ("polars", "LazyFrame"): FrameType.polars_lazy,
    ("duckdb", "DuckDBPyRelation"): FrameType.duckdb,
    ("_duckdb", "DuckDBPyRelation"): FrameType.duckdb,
}
"""By package and class name, since module names within a package change between releases."""


def frame_type_of(annotation: object) -> FrameType | None:
    """Return the frame type of an annotation or of a value's class; ``None`` if it is not a frame.

    >>> import pyarrow as pa
    >>> frame_type_of(pa.Table), frame_type_of(pa.Table | None), frame_type_of(int)
    (<FrameType.pyarrow: 'pyarrow'>, <FrameType.pyarrow: 'pyarrow'>, None)
    """
    meant = _without_none(annotation)
    if not isinstance(meant, type):
        return None
    names = ((cls.__module__.partition(".")[0], cls.__name__) for cls in meant.__mro__)
    return next((_CLASSES[name] for name in names if name in _CLASSES), None)


def allows_none(annotation: object) -> bool:
    """Return whether an annotation allows ``None``, such as ``pa.Table | None``."""
    return _is_union(annotation) and type(None) in get_args(annotation)


def known_types() -> str:
    """Return the classes as text, for an error."""
    return (
        "pyspark DataFrame (SparkFrame), pyarrow Table, RecordBatchReader or Dataset, pandas DataFrame, "
        "polars DataFrame or LazyFrame, duckdb relation"
    )


def _without_none(annotation: object) -> object:
    if not _is_union(annotation):
        return annotation
    others = [part for part in get_args(annotation) if part is not type(None)]
    return others[0] if len(others) == 1 else annotation


def _is_union(annotation: Any) -> bool:  # noqa: ANN401 - annotations are of any kind
    return get_origin(annotation) in (Union, types.UnionType)
