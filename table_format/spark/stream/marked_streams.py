"""Marks the options of ``readStream.format("paimon")``, so that the data source distinguishes streams from batch reads.

Spark asks a Python data source for its columns before it says how they are read. ``scan.snapshot-id`` selects an
earlier state and its columns in a batch read, but the start of a stream, whose columns are the current ones. With the
mark, the data source also refuses a stream at ``load`` instead of in the running query.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT: Final = "paimon"
"""The name of the data source."""

IS_STREAM: Final = "paimon.is-stream"
"""The option that marks streams."""

_MARKS: Final = "marks_streams"


def mark_streams(spark: SparkSession) -> None:
    """Mark the streams that sessions of this class read from now on. Idempotent."""
    reader: Any = type(spark.readStream)
    choose = reader.format
    if getattr(choose, _MARKS, False):
        return

    @wraps(choose)
    def marked(self: Any, source: str) -> Any:  # noqa: ANN401 - as in Spark, whose sessions have different readers
        found = choose(self, source)
        return found.option(IS_STREAM, "true") if source.lower() == FORMAT else found

    setattr(marked, _MARKS, True)
    reader.format = marked  # Spark has no hook for streams


def is_stream(options: Mapping[str, str]) -> bool:
    """Return whether options, with keys in lower case, are those of ``readStream.format("paimon")``."""
    return options.get(IS_STREAM) == "true"
