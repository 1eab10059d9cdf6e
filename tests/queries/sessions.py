"""Settings of a session that may change no result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from tests.support.shared_classes import QUICK as QUICK_JAVA

CASE: Final = "spark.sql.caseSensitive"
BATCH_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_RULES: Final = (
    "BooleanSimplification",
    "CollapseProject",
    "ColumnPruning",
    "CombineFilters",
    "ConstantFolding",
    "EliminateOuterJoin",
    "InferFiltersFromConstraints",
    "LimitPushDown",
    "PushDownPredicates",
    "PushExtraPredicateThroughJoin",
    "RemoveNoopOperators",
    "SimplifyCasts",
)
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "spark.sql.ansi.enabled": ("true", "true", "false"),
    "spark.sql.session.timeZone": (
        *("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "-03:30"),
    ),
    CASE: ("false", "true"),
    "spark.sql.adaptive.enabled": ("true", "false"),
    BATCH_ROWS: ("10000", "1", "7", "0"),
    "spark.sql.shuffle.partitions": ("2", "1", "5"),
    "spark.sql.autoBroadcastJoinThreshold": ("10485760", "-1"),
    "spark.sql.codegen.wholeStage": ("true", "true", "false"),
    "spark.sql.parquet.enableVectorizedReader": ("true", "true", "false"),
    "spark.sql.parquet.columnarReaderBatchSize": ("4096", "3"),
    "spark.sql.parquet.filterPushdown": ("true", "true", "false"),
    "spark.sql.parquet.recordLevelFilter.enabled": ("false", "true"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("CORRECTED", "LEGACY", "EXCEPTION"),
    "spark.sql.parquet.mergeSchema": ("false", "true"),
    "spark.sql.parquet.binaryAsString": ("false", "true"),
    "spark.sql.parquet.inferTimestampNTZ.enabled": ("true", "false"),
    "spark.sql.parquet.fieldId.read.enabled": ("false", "true"),
    "spark.sql.files.maxPartitionBytes": ("134217728", "4000"),
    "spark.sql.files.ignoreMissingFiles": ("false", "true"),
    "spark.sql.files.ignoreCorruptFiles": ("false", "true"),
    "spark.sql.sources.useV1SourceList": ("avro,csv,json,kafka,orc,parquet,text", "", "orc"),
    "spark.sql.sources.bucketing.enabled": ("true", "false"),
    "spark.sql.timestampType": ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"),
    "spark.sql.datetime.java8API.enabled": ("false", "true"),
    "spark.sql.legacy.timeParserPolicy": ("CORRECTED", "LEGACY"),
    "spark.sql.optimizer.inSetConversionThreshold": ("10", "1"),
    "spark.sql.execution.arrow.useLargeVarTypes": ("false", "true"),
    "spark.sql.optimizer.excludedRules": ("", *(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES)),
}


QUICK: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.maxPlanStringLength": "0",
}
"""What makes a job of many small queries quick: nothing is compiled, shuffled, planned again or shown."""

QUICK_SESSION: Final[Mapping[str, str]] = {
    # Plans and tasks are small and many: the optimizing compiler and several threads that collect garbage cost more
    # than they save, and so does the line of the caller, which PySpark looks for at each call.
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Settings of the whole session of a long run."""

_SLOW_PART: Final = 0.15


def random_settings(chance: Random) -> dict[str, str]:
    """A few settings that differ from those of the session; as a rule beside those that make small jobs quick."""
    some = chance.sample(sorted(_CHOICES), chance.randrange(7))
    drawn = {key: chance.choice(_CHOICES[key]) for key in some}
    return drawn if chance.random() < _SLOW_PART else {**drawn, **QUICK}


@contextmanager
def settings_of(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """The settings, for as long as the block takes."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
