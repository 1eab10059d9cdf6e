"""Lets Spark pass rows to Python tasks without measuring each row.

Spark limits an Arrow batch by rows and by bytes. For the byte limit, it adds up the buffers of all columns before it
adds a row, which costs more than copying the row. Only the largest INT as the limit turns this off. Then only the row
limit applies. The DataFrame therefore gets an additional test, which reads only the lengths of strings: a row that is
too wide stops the job, and the job is repeated with Spark's own limit.

In a classic session, the limit is a local property of this thread: tasks read it like a setting, other threads do not
see it, and a setting of the user takes precedence. On Connect, a large job runs in a clone of the session. A small one
does not: the tasks of a new session start new Python processes, which takes seconds. Nor does one on a server that does
not isolate the files of its sessions: each later executor would ask for the files of the clone, which Spark deletes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pyspark.errors import PySparkException
from pyspark.sql.types import (
    AnsiIntervalType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from table_format.spark.names import quoted
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.write.named_rows import plain_names
from table_format.spark.write.sizes import (
    SMALL_BYTES,
    WIDEST_VALUE,
    has_python,
    has_python_on_connect,
    is_small,
    lengths_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
MAX_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"

_ISOLATION: Final = "spark.sql.artifact.isolation.enabled"
"""Spark's servers set it. A server inside a session of PySpark does not."""

UNMEASURED: Final = str((1 << 31) - 1)
"""The only value with which Spark does not measure rows."""

BATCH_BYTES: Final = 256 << 20
"""The maximum bytes of a batch if every row has the maximum width."""

ROWS_WITH_STRINGS: Final = 2_000
"""Rows of a batch with strings, unless the user sets another number. A row may then be 131 kB wide."""

_LEAST_WIDTH: Final = 8 << 10
"""If the maximum width would be smaller, Spark's limit stays, because too many jobs would be repeated."""

_WIDE_ROW: Final = "a row is too wide for a batch that is bounded by rows"


@dataclass(frozen=True, slots=True)
class RowBound:
    """The limit of a batch without measuring it; ``rows`` is ``None`` if Spark's setting applies."""

    rows: int | None
    strings: tuple[str, ...]
    width: int
    """The maximum total bytes of the strings of one row."""


def in_unmeasured_batches(frame: DataFrame, work: Callable[[DataFrame], T]) -> T:
    """Run a job on the rows of a DataFrame, in batches that Spark does not measure if that is safe.

    The job may run twice. After a failure, it may leave only files that nothing references.
    """
    bound = _bound(frame)
    if bound is None:
        return work(frame)
    try:
        with _unmeasured(with_test_of_width(frame, bound), bound) as prepared:
            return work(prepared)
    except PySparkException as error:
        if _WIDE_ROW not in str(error):
            raise
    return work(frame)


def shown_bound(frame: DataFrame) -> str:
    """Return a text about how the batches of a DataFrame would be limited."""
    bound = _bound(frame)
    if bound is None:
        return f"batches: bounded by {MAX_BYTES}, each row is measured"
    rows = frame.sparkSession.conf.get(MAX_ROWS) if bound.rows is None else bound.rows
    width = f", strings of a row by {bound.width} bytes" if bound.strings else ""
    return f"batches: bounded by {rows} rows{width}, rows are not measured"


def _bound(frame: DataFrame) -> RowBound | None:
    spark = frame.sparkSession
    if is_connect(spark) and (is_small(frame, SMALL_BYTES) or not _may_clone(spark) or belongs_to_session(frame)):
        return None
    return None if _has_python(frame) else bound_of(frame.schema, _settings(spark))


def _settings(spark: SparkSession) -> Mapping[str, str]:
    """Return the limits of batches that are set."""
    if is_connect(spark):
        return spark.conf.getAll
    # ``getAll`` of a classic session makes several calls for each setting.
    found = {key: spark.conf.get(key, None) for key in (MAX_BYTES, MAX_ROWS)}
    return {key: value for key, value in found.items() if value is not None}


def bound_of(schema: StructType, settings: Mapping[str, str]) -> RowBound | None:
    """Return the limit for rows of this schema; ``None`` if Spark's limit must stay.

    It stays if the user has set one, and if values other than strings may be wide: binary and nested values, and
    unknown types.
    """
    if MAX_BYTES in settings:
        return None
    types = {field.name: field.dataType for field in schema.fields}
    strings = tuple(name for name, kind in types.items() if isinstance(kind, StringType))
    if not all(name in strings or _is_narrow(kind) for name, kind in types.items()):
        return None
    default = ROWS_WITH_STRINGS if strings else 10_000
    rows = int(settings.get(MAX_ROWS, default))
    width = BATCH_BYTES // rows - WIDEST_VALUE * len(types) if rows > 0 else 0
    if width < (_LEAST_WIDTH if strings else 0) or rows <= 0:
        return None
    return RowBound(rows if strings and MAX_ROWS not in settings else None, strings, width)


def with_test_of_width(frame: DataFrame, bound: RowBound) -> DataFrame:
    """Return the DataFrame with a test that stops the job if the strings of a row are too wide."""
    if not bound.strings:
        return frame
    # By position, because Spark does not distinguish names that differ only in case.
    plain = plain_names(len(frame.columns))
    renamed = frame if frame.columns == plain else frame.toDF(*plain)
    return renamed.selectExpr(*_tested_columns(frame.schema, plain, bound))


def _tested_columns(schema: StructType, plain: Sequence[str], bound: RowBound) -> list[str]:
    """Return the columns as SQL: Spark parses them in one call, and each ``Column`` object would cost several calls."""
    strings = [name for name, field in zip(plain, schema, strict=True) if field.name in bound.strings]
    first = plain.index(strings[0])
    # A column, not a condition: Spark would also apply a condition to rows that joins and filters drop.
    test = f"CASE WHEN {lengths_of(strings)} > {bound.width}L THEN raise_error('{_WIDE_ROW}') ELSE {plain[first]} END"
    columns = list(plain)
    columns[first] = f"CAST({test} AS {schema[first].dataType.simpleString()})"
    return [f"{column} AS {quoted(name)}" for column, name in zip(columns, schema.names, strict=True)]


def _is_narrow(kind: DataType) -> bool:
    fixed = (BooleanType, NumericType, DecimalType, DateType, TimestampType, TimestampNTZType, AnsiIntervalType)
    return isinstance(kind, (*fixed, NullType))


@contextmanager
def _unmeasured(frame: DataFrame, bound: RowBound) -> Iterator[DataFrame]:
    wanted = {MAX_BYTES: UNMEASURED, **({} if bound.rows is None else {MAX_ROWS: str(bound.rows)})}
    spark = frame.sparkSession
    if is_connect(spark):
        with _clone(spark, wanted) as clone:
            yield frame if clone is None else _moved(frame, clone)
        return
    context = spark.sparkContext
    before = {key: context.getLocalProperty(key) for key in wanted}
    for key, value in wanted.items():
        context.setLocalProperty(key, value)
    try:
        yield frame
    finally:
        for key, earlier in before.items():
            context.setLocalProperty(key, earlier)  # type: ignore[arg-type]  # None removes a property


# --- user functions ---------------------------------------------------------------------------------------------------


def _has_python(frame: DataFrame) -> bool:
    """Return whether the job contains Python functions of the user, whose input rows may be wider than the result.

    Functions with which this library reads a table do not count: the DataFrame of a table is not planned yet.
    """
    if is_connect(frame.sparkSession):
        return has_python_on_connect(frame)
    return has_python(frame.sparkSession, getattr(frame, "_plain", frame)._jdf)


# --- sessions of Connect ----------------------------------------------------------------------------------------------


def _may_clone(spark: SparkSession) -> bool:
    return hasattr(spark, "cloneSession") and spark.conf.get(_ISOLATION, "true") == "true"


@contextmanager
def _clone(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession | None]:
    """Return a clone of a session with other settings for one job; ``None`` if the session cannot be cloned."""
    try:
        clone: Any = cast("Any", spark).cloneSession()
    except Exception:  # noqa: BLE001 - errors of gRPC, which are not errors of Spark
        # The server is too old or has no capacity, so batches are measured.
        _log.debug("the session could not be cloned", exc_info=True)
        yield None
        return
    try:
        for key, value in settings.items():
            clone.conf.set(key, value)
        yield clone
    finally:
        # ``stop`` would end the server of a local session.
        clone.client.release_session()
        clone.client.close()


def belongs_to_session(frame: DataFrame) -> bool:
    """Return whether another session cannot run the plan: the server keeps some of its rows for this session.

    The rows of ``foreachBatch``, of ``checkpoint`` and of ``localCheckpoint`` are of this kind.
    """
    plan: Any = cast("Any", frame)._plan
    return _has_cached_rows(plan.to_proto(frame.sparkSession.client))


def _has_cached_rows(message: Any) -> bool:  # noqa: ANN401 - a message of protobuf
    for described, value in message.ListFields():
        if described.name == "cached_remote_relation":
            return True
        if described.message_type is None or described.message_type.GetOptions().map_entry:
            continue
        if any(map(_has_cached_rows, [value] if hasattr(value, "ListFields") else value)):
            return True
    return False


def _moved(frame: DataFrame, session: SparkSession) -> DataFrame:
    """Return the same plan as a DataFrame of another session."""
    plan: Any = cast("Any", frame)._plan
    return cast("DataFrame", cast("Any", type(frame))(plan, session))
