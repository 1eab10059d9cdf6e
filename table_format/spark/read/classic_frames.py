"""DataFrames of a classic session that remember their tables.

Methods that derive a DataFrame run on templates, as on any DataFrame: errors, names and columns are Spark's. Methods
that need rows, or pass the DataFrame to Spark, use ``_jdf``, which is planned at that moment with the columns and
conditions that the query needs. Methods that are not listed here are Spark's own and also use ``_jdf``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.group import GroupedData

from table_format.spark.read.catalyst import Scans, resolved, template_of
from table_format.spark.read.jvm_plans import JavaObject
from table_format.spark.read.pinned_scan import FrameSource

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructType

_DERIVING: Final = (
    *("alias", "where", "filter", "select", "selectExpr", "drop", "limit", "offset", "toDF", "to", "hint"),
    *("withColumn", "withColumns", "withColumnRenamed", "withColumnsRenamed", "withMetadata"),
    *("sort", "orderBy", "sortWithinPartitions", "repartition", "repartitionByRange", "coalesce"),
    *("distinct", "dropDuplicates", "drop_duplicates", "dropna", "fillna", "replace", "agg", "unpivot", "melt"),
    *("join", "crossJoin", "union", "unionAll", "unionByName"),
    *("intersect", "intersectAll", "subtract", "exceptAll"),
)
_GROUPING: Final = ("groupBy", "groupby", "rollup", "cube")
_AGGREGATING: Final = ("agg", "count", "mean", "avg", "max", "min", "sum")


class TableFrame(DataFrame):
    """A DataFrame over scans of tables, which are planned when its rows are needed."""

    def __init__(self, template: JavaObject, spark: SparkSession, scans: Scans) -> None:
        # Like the base class, which would also set ``_jdf``.
        self._session = spark
        self._sc = spark._sc
        self.is_cached = False
        self._support_repr_html = False
        self._plain = DataFrame(template, spark)
        self._scans = scans

    @property
    def _jdf(self) -> JavaObject:
        return self._resolved[0]

    @cached_property
    def _resolved(self) -> tuple[JavaObject, Sequence[str]]:
        try:
            return resolved(self._session, self._plain._jdf, self._scans)
        except AttributeError as error:
            # Python would search a column with this name.
            raise RuntimeError(str(error)) from error

    @cached_property
    def schema(self) -> StructType:
        """The columns, from the query over templates."""
        return self._plain.schema

    def __getitem__(self, item: Any) -> Any:  # noqa: ANN401 - a column or a DataFrame, as in Spark
        return self._plain[item] if isinstance(item, str | int) else super().__getitem__(item)

    def __getattr__(self, name: str) -> Column:
        if name == "_plain":
            raise AttributeError(name)
        return getattr(self._plain, name)  # type: ignore[no-any-return]  # a column

    def count(self) -> int:
        """Return the number of rows. At most one column is read."""
        if self.is_cached:
            return super().count()
        (row,) = self._derived(cast("DataFrame", self._plain.groupBy().count())).collect()
        return int(row[0])

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:  # noqa: FBT001 - as in Spark
        """Print Spark's plan, then which reader reads the rows that must be merged, and why."""
        super().explain(extended, mode)
        for line in self._resolved[1]:
            print(line)

    def isEmpty(self) -> bool:
        """Return whether there are no rows."""
        return super().isEmpty() if self.is_cached else not self.select(F.lit(1)).limit(1).collect()

    def _derived(self, frame: DataFrame, others: Iterable[TableFrame] = ()) -> TableFrame:
        scans = dict(self._scans)
        for other in others:
            scans.update(other._scans)
        return TableFrame(frame._jdf, self._session, scans)


class TableGroups(GroupedData):
    """Grouped rows of a ``TableFrame``."""

    def __init__(self, template: GroupedData, planned: Callable[[], GroupedData], frame: TableFrame) -> None:
        self._template = template
        self._planned = planned
        self._df: TableFrame = frame
        self.session = frame.sparkSession

    @cached_property
    def _jgd(self) -> JavaObject:
        return self._planned()._jgd

    def pivot(self, pivot_col: str, values: list[Any] | None = None) -> GroupedData:
        """Call Spark's ``pivot``. Without values, it runs a query to find them."""
        if values is None:
            return super().pivot(pivot_col)
        template = self._template.pivot(pivot_col, values)
        return TableGroups(template, lambda: self._planned().pivot(pivot_col, values), self._df)


def _deriving(name: str) -> Callable[..., Any]:
    """Return the operation with this name, on templates if there are any."""
    operation: Callable[..., Any] = getattr(DataFrame, name)

    @wraps(operation)
    def derive(frame: TableFrame, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as the operation
        if frame.is_cached:
            # Spark finds cached data by the plan that was cached.
            return operation(frame, *arguments, **named)
        others = [a for a in (*arguments, *named.values()) if isinstance(a, TableFrame) and not a.is_cached]
        try:
            found = operation(
                frame._plain, *map(_plain, arguments), **{key: _plain(value) for key, value in named.items()}
            )
        except AnalysisException as error:
            _require_unknown_column(error)
            return operation(DataFrame(frame._jdf, frame._session), *arguments, **named)
        return frame._derived(found, others)

    return derive


def _require_unknown_column(error: AnalysisException) -> None:
    """Raise the error, unless the column may exist only in files, such as ``_metadata``."""
    if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        raise error


def _plain(argument: Any) -> Any:  # noqa: ANN401 - of any operation
    return argument._plain if isinstance(argument, TableFrame) and not argument.is_cached else argument


def _grouping(name: str) -> Callable[..., Any]:
    operation: Callable[..., Any] = getattr(DataFrame, name)

    @wraps(operation)
    def group(frame: TableFrame, *columns: Any) -> GroupedData:  # noqa: ANN401 - as the operation
        def planned() -> GroupedData:
            return cast("GroupedData", operation(DataFrame(frame._jdf, frame._session), *columns))

        if frame.is_cached:
            return planned()
        try:
            template = operation(frame._plain, *columns)
        except AnalysisException as error:
            _require_unknown_column(error)
            return planned()
        return TableGroups(template, planned, frame)

    return group


def _aggregating(name: str) -> Callable[..., Any]:
    operation: Callable[..., Any] = getattr(GroupedData, name)

    @wraps(operation)
    def aggregate(groups: TableGroups, *arguments: Any) -> Any:  # noqa: ANN401 - as the operation
        return groups._df._derived(operation(groups._template, *arguments))

    return aggregate


for _name in _DERIVING:
    setattr(TableFrame, _name, _deriving(_name))
for _name in _GROUPING:
    setattr(TableFrame, _name, _grouping(_name))
for _name in _AGGREGATING:
    setattr(TableGroups, _name, _aggregating(_name))


def classic_frame(scan: FrameSource) -> TableFrame:
    """Return the DataFrame of a scan."""
    template, scans = template_of(scan)
    return TableFrame(template, scan.spark, scans)
