"""Runs SQL text in which DataFrames replace table names.

In a classic session, the result is also a DataFrame that remembers its tables: the text runs over their templates, so
the needs of the query are known when its rows are needed. A template within an expression, such as a subquery of a
condition or of a column, is not replaced later; its table is planned immediately, with the columns that the query
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from table_format.spark.names import quoted
from table_format.spark.read.classic_frames import TableFrame
from table_format.spark.read.jvm_plans import JavaObject, class_name, items_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEAF = "LogicalRDD"


def queried(
    spark: SparkSession,
    text: str,
    parameters: Mapping[str, object],
    frames: Mapping[str, DataFrame],
    columns: Callable[[DataFrame], Sequence[str] | None],
) -> DataFrame:
    """Return the DataFrame of a query in which ``{name}`` stands for each DataFrame. Other braces are doubled.

    ``columns`` returns those that the query may need of a DataFrame; ``None`` for all.
    """
    arguments: Any = dict(parameters) or None
    if not frames:
        return spark.sql(text.format(), arguments)
    tables = {name: frame for name, frame in frames.items() if isinstance(frame, TableFrame) and not frame.is_cached}
    given: dict[str, Any] = {**frames, **{name: frame._plain for name, frame in tables.items()}}
    found = spark.sql(text, arguments, **given)
    if not tables:
        return found
    hidden = set(_ids_in(_subqueries(found._jdf)))
    planned = {name: frame for name, frame in tables.items() if hidden.intersection(frame._scans)}
    if planned:
        for name, frame in planned.items():
            wanted = columns(frame)
            narrow = frame if wanted is None else frame.select(*(quoted(column) for column in wanted))
            given[name] = ClassicDataFrame(narrow._jdf, spark)
        found = spark.sql(text, arguments, **given)
    scans: dict[int, Any] = {}
    for name, frame in tables.items():
        if name not in planned:
            scans.update(frame._scans)
    return TableFrame(found._jdf, spark, scans) if scans else found


def _subqueries(frame: JavaObject) -> Iterator[JavaObject]:
    return items_of(frame.queryExecution().analyzed().subqueriesAll())


def _ids_in(plans: Iterable[JavaObject]) -> Iterator[int]:
    for plan in plans:
        for leaf in items_of(plan.collectLeaves()):
            if class_name(leaf) == _LEAF:
                yield leaf.rdd().id()
