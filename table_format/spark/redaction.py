"""Makes Spark mask secrets in what it shows of a session: the texts of plans, and the options in them.

The UI and the event log belong to the JVM: set ``spark.redaction.regex`` when it is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_format.secrets import SPARK_KEY_PATTERN, SPARK_TEXT_PATTERN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATTERNS: Final = {
    "spark.sql.redaction.options.regex": SPARK_KEY_PATTERN,
    "spark.sql.redaction.string.regex": SPARK_TEXT_PATTERN,
}


def mask_secrets(spark: SparkSession) -> None:
    """Add this library's patterns to those of the session; the second call does nothing."""
    for key, ours in _PATTERNS.items():
        theirs = spark.conf.get(key, "") or ""
        if ours not in theirs:
            spark.conf.set(key, f"(?:{theirs})|{ours}" if theirs else ours)
