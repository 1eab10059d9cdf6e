"""Makes Spark mask secrets in the output of a session: in the texts of plans and their options.

For the UI and the event log, set ``spark.redaction.regex`` when the JVM is started.
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
    """Add the patterns of this library to those of the session. A second call has no effect."""
    for key, ours in _PATTERNS.items():
        theirs = spark.conf.get(key, "") or ""
        if ours not in theirs:
            spark.conf.set(key, f"(?:{theirs})|{ours}" if theirs else ours)
