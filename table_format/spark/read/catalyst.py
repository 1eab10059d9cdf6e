"""Finds which columns and rows of a table a query of a classic session needs, and builds a plan that reads only those.

A DataFrame is built over a *template*: a leaf with the columns of the table that cannot be executed. Spark's analyzer
and optimizer treat it like any other leaf. The optimized plan shows which columns the query needs and which conditions
are directly above the leaf. A leaf without the rows that do not match these conditions gives the same result for any
query, because the optimizer knows nothing about the rows. In the analyzed plan, the leaf is replaced by a scan with the
same attributes, so columns of any DataFrame stay valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import functions as F

from table_format.codecs.foreign_conditions import MAX_VALUES, implied, is_understood
from table_format.errors import InvalidInputError
from table_format.model.predicate import Predicate, conjunction
from table_format.model.row_order import RowLimit
from table_format.model.types import DataField, DataType
from table_format.spark.read.catalyst_conditions import ConditionReader
from table_format.spark.read.catalyst_limits import LIMITS, limit_above
from table_format.spark.read.jvm_plans import JavaObject, OfSession, class_name, items_of
from table_format.spark.read.lost_days import in_lost_days, unpushed
from table_format.spark.read.pinned_scan import FrameSource
from table_format.spark.types import frame_schema, spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Key: TypeAlias = tuple[int, int]
"""A leaf: the id of its RDD, and the id of its first attribute, which differs for each use in a plan."""

Scans: TypeAlias = Mapping[int, FrameSource]
"""The scans of templates, by the id of the RDD of the template."""

_LEAF: Final = "LogicalRDD"
_EXCLUDED_RULES: Final = "spark.sql.optimizer.excludedRules"
_PRUNING: Final = "ColumnPruning"
_CHOOSING: Final = frozenset({"Project", "Aggregate"})
"""Operations whose output has only the columns that they refer to."""
_PASSING: Final = frozenset({"Filter", "Join", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Window"})
"""Operations that refer to some columns by their ids and also pass all others on."""
_RENAMING: Final = frozenset({"SubqueryAlias", "View"})
"""Operations without expressions. SQL text reads a DataFrame through a view."""
_NUMBER: Final = re.compile(r"#(\d+)")
_UNUSED: Final = "the query read a column of the table that it did not need when it was planned"


@dataclass(frozen=True, slots=True)
class Need:
    """The needs of a query from a scan: columns (``None`` for all) of rows that match a condition."""

    columns: frozenset[str] | None = None
    condition: Predicate | None = None
    is_limited: bool = field(default=False, compare=False)
    """Whether there is a limit above the leaf, so that few rows may be sufficient."""
    limit: RowLimit | None = field(default=None, compare=False)
    """The first rows that match the condition, if these are sufficient."""
    names_lost_days: bool = field(default=False, compare=False)
    """Whether Spark's Parquet reader would misunderstand a condition; see ``spark/read/lost_days.py``."""

    def or_else(self, other: Need) -> Need:
        """Return the union of two needs."""
        columns = None if self.columns is None or other.columns is None else self.columns | other.columns
        condition = self.condition if self.condition == other.condition else None
        return Need(
            columns,
            condition,
            is_limited=self.is_limited and other.is_limited,
            names_lost_days=self.names_lost_days or other.names_lost_days,
        )


@dataclass(frozen=True, slots=True)
class _Jvm:
    """Objects in the JVM of a session."""

    refusing_rows: JavaObject
    """An RDD that cannot be computed."""
    schema_of: JavaObject
    dataset: JavaObject
    alias: JavaObject
    expression_id: JavaObject
    project: JavaObject
    to_seq: JavaObject
    nothing: JavaObject
    no_items: JavaObject
    current_time: JavaObject
    subquery: JavaObject

    @classmethod
    def of(cls, spark: SparkSession) -> _Jvm:
        """Look up the objects of a session."""
        jvm: JavaObject = spark._jvm
        catalyst = jvm.org.apache.spark.sql.catalyst
        pattern = catalyst.trees.TreePattern
        rows: JavaObject = spark.sparkContext.parallelize([0], 1).map(_refuse)
        return cls(
            refusing_rows=jvm.SerDeUtil.toJavaArray(rows._to_java_object_rdd()).rdd(),
            schema_of=jvm.org.apache.spark.sql.types.DataType.fromJson,
            dataset=getattr(jvm.org.apache.spark.sql.classic, "Dataset$").__getattr__("MODULE$"),
            alias=catalyst.expressions.Alias,
            expression_id=catalyst.expressions.ExprId.apply,
            project=catalyst.plans.logical.Project,
            to_seq=jvm.PythonUtils.toSeq,
            nothing=jvm.scala.Option.empty(),
            no_items=jvm.PythonUtils.toSeq([]),
            current_time=pattern.CURRENT_LIKE(),
            subquery=pattern.PLAN_EXPRESSION(),
        )

    def seq(self, items: Sequence[JavaObject]) -> JavaObject:
        """Return a Scala sequence."""
        return self.to_seq(list(items))


_jvm_of: Final = OfSession(_Jvm.of)


def template_of(scan: FrameSource) -> tuple[JavaObject, Scans]:
    """Return a template of a scan as a DataFrame of the JVM, and the scan by the id of its leaf."""
    jvm = _jvm_of(scan.spark)
    # The union has an id of its own. Other operations on RDDs cost more, because Spark inspects the code they run.
    rows = jvm.refusing_rows.union(jvm.refusing_rows)
    schema = jvm.schema_of(frame_schema(scan.fields).json())
    return scan.spark._jsparkSession.internalCreateDataFrame(rows, schema, False), {rows.id(): scan}


def _refuse(_: object) -> Any:  # noqa: ANN401 - never returns
    message = "the template of a table was executed instead of a scan; this is a bug in the library"
    raise InvalidInputError(message)


def resolved(spark: SparkSession, template: JavaObject, scans: Scans) -> tuple[JavaObject, Sequence[str]]:
    """Return the DataFrame of the JVM that reads only what the query needs of each scan, and lines for ``explain``."""
    needs = dict(needs_of(spark, template, scans))
    analyzed = template.queryExecution().analyzed()
    replacement = _Replacement(spark, scans, needs)
    frame = replacement.frame(analyzed)
    if replacement.has_unused and _computes_unused(frame.queryExecution().optimizedPlan()):
        # Spark simplifies some conditions on columns, but not the same conditions on other expressions.
        replacement = _Replacement(spark, scans, {key: replace(need, columns=None) for key, need in needs.items()})
        frame = replacement.frame(analyzed)
    return frame, tuple(dict.fromkeys(replacement.notes))


def needs_of(spark: SparkSession, template: JavaObject, scans: Scans) -> Sequence[tuple[_Key, Need]]:
    """Return what the query of the template needs of each leaf."""
    analyzed = template.queryExecution().analyzed()
    leaves = [_key(leaf) for leaf in _leaves(analyzed, scans)]
    everything = [(leaf, Need(names_lost_days=True)) for leaf in leaves]
    if _is_template(analyzed, scans) or _PRUNING in (spark.conf.get(_EXCLUDED_RULES, "") or ""):
        # Without that rule, columns that another rule removed may reappear when more operations are added.
        return everything
    if analyzed.isStreaming():
        # Spark optimizes the plan of a streaming query only for each of its micro-batches.
        return everything
    # The current time would be earlier here than when the query runs.
    takes_conditions = not analyzed.containsPattern(_jvm_of(spark).current_time)
    found: dict[_Key, Need] = {}
    for key, need in _needs_of(template.queryExecution().optimizedPlan(), (), scans):
        if key not in leaves:
            # The optimizer copied a leaf, and the original cannot be identified.
            return everything
        pruned = need if takes_conditions else Need(need.columns, names_lost_days=need.names_lost_days)
        found[key] = found[key].or_else(pruned) if key in found else pruned
    return [(leaf, found.get(leaf, Need())) for leaf in leaves]


def _needs_of(plan: JavaObject, parents: tuple[JavaObject, ...], scans: Scans) -> Iterator[tuple[_Key, Need]]:
    if _is_template(plan, scans):
        is_limited = any(class_name(parent) in LIMITS for parent in parents)
        yield _key(plan), replace(_need(plan, parents, scans), is_limited=is_limited)
        return
    for child in items_of(plan.children()):
        yield from _needs_of(child, (*parents, plan), scans)


def _need(leaf: JavaObject, parents: tuple[JavaObject, ...], scans: Scans) -> Need:
    """Return what the operations above a leaf need of it. The nearest parent is last."""
    scan = scans[leaf.rdd().id()]
    columns = dict(zip(_output_ids(leaf), scan.fields, strict=True))
    conditions: list[Predicate] = []
    is_exact = True
    names_lost_days = False
    used: set[int] = set()
    above = list(parents)
    while above and class_name(above[-1]) == "Filter":
        test = above.pop().condition()
        nodes = json.loads(test.toJSON())
        used |= _attributes(nodes)
        names_lost_days |= in_lost_days(nodes)
        read = ConditionReader(columns, _OfJvm(test)).read(nodes)
        is_exact &= is_understood(read)
        found = implied(read)
        if found is not None:
            conditions.append(found)
    condition = conjunction(tuple(conditions))
    limit = limit_above(above, columns) if is_exact else None
    needed: frozenset[str] | None = None
    if above and class_name(above[-1]) in ("Project", "Aggregate"):
        needed = frozenset(columns[i].name for i in _references(above[-1]) | used if i in columns)
    return Need(needed, condition, limit=limit, names_lost_days=names_lost_days)


def _output_ids(leaf: JavaObject) -> Sequence[int]:
    """Return the ids of the columns of a leaf. Spark counts them up; other threads may count at the same time."""
    output = leaf.output()
    first, last = (output.apply(at).exprId().id() for at in (0, output.size() - 1))
    if last - first == output.size() - 1:
        return range(first, last + 1)
    return [attribute.exprId().id() for attribute in items_of(output)]


def _references(plan: JavaObject) -> set[int]:
    """Return the ids of the columns that an operation refers to. A name such as ``a#1`` may add one."""
    return {int(number) for number in _NUMBER.findall(plan.references().mkString(" "))}


def _attributes(nodes: Sequence[Mapping[str, Any]]) -> set[int]:
    return {node["exprId"]["id"] for node in nodes if "exprId" in node}


@dataclass(frozen=True, slots=True)
class _OfJvm:
    """The expression in the JVM, for values that its JSON lacks."""

    expression: JavaObject

    def number(self, path: Sequence[int]) -> int:
        return int(self._at(path).value())

    def texts(self, path: Sequence[int]) -> tuple[Sequence[str], bool] | None:
        values = self._at(path).hset()
        if values.size() > MAX_VALUES:
            return None
        separator = "\0|\0"
        texts = str(values.mkString(separator)).split(separator)
        if len(texts) != values.size():
            return None
        has_null = bool(values.contains(None))
        if has_null:
            texts.remove("null")
        return texts, has_null

    def _at(self, path: Sequence[int]) -> JavaObject:
        found = self.expression
        for number in path:
            found = found.children().apply(number)
        return found


class _Replacement:
    """Replaces the templates of a plan by scans of the needed columns and rows."""

    def __init__(self, spark: SparkSession, scans: Scans, needs: Mapping[_Key, Need]) -> None:
        self._spark = spark
        self._scans = scans
        self._needs = needs
        self._jvm = _jvm_of(spark)
        self.notes: list[str] = []
        self.has_unused = False
        """Whether the plan names columns that are not read."""

    def frame(self, plan: JavaObject) -> JavaObject:
        """Return the DataFrame of the plan."""
        may_trim = not plan.containsPattern(self._jvm.subquery)
        return self._jvm.dataset.ofRows(self._session, self._replaced(plan, () if may_trim else None))

    @property
    def _session(self) -> JavaObject:
        return self._spark._jsparkSession

    def _replaced(self, plan: JavaObject, parents: tuple[JavaObject, ...] | None) -> JavaObject:
        if _is_template(plan, self._scans):
            return self._scan(plan, None if parents is None else _required(parents))
        old = list(items_of(plan.children()))
        below = None if parents is None else (*parents, plan)
        new = [self._replaced(child, below) for child in old]
        return plan if all(a is b for a, b in zip(old, new, strict=True)) else plan.withNewChildren(self._jvm.seq(new))

    def _scan(self, leaf: JavaObject, required: set[int] | None) -> JavaObject:
        """Return a scan with the columns that the operations above it refer to."""
        scan = self._scans[leaf.rdd().id()]
        need = self._needs.get(_key(leaf), Need())
        columns = scan.names if need.columns is None else [name for name in scan.names if name in need.columns]
        frame = scan.frame(
            columns, need.condition, is_limited=need.is_limited, limit=need.limit, note=self.notes.append
        )
        plan = frame._jdf.queryExecution().analyzed()
        places = {name: place for place, name in enumerate(columns)}
        read = plan.output()
        unused: dict[DataType, JavaObject] = {}
        renamed: list[JavaObject] = []
        for expression_id, column in zip(_output_ids(leaf), scan.fields, strict=True):
            if required is not None and expression_id not in required:
                continue
            if column.name in places:
                value = read.apply(places[column.name])
                if need.names_lost_days:
                    value = unpushed(self._spark, value, column.type)
            else:
                if column.type not in unused:
                    unused[column.type] = self._unused(column)
                value = unused[column.type]
            renamed.append(self._alias(value, column.name, expression_id))
        project = self._jvm.project(self._jvm.seq(renamed), plan)
        # The ids of DataFrames, with which Spark detects a column that may be from either side of a join.
        project.copyTagsFrom(leaf)
        return project

    def _alias(self, value: JavaObject, name: str, number: int) -> JavaObject:
        jvm = self._jvm
        return jvm.alias(value, name, jvm.expression_id(number), jvm.no_items, jvm.nothing, jvm.no_items)

    def _unused(self, column: DataField) -> JavaObject:
        """Return an error instead of a value. If the column were needed after all, null would be a wrong result."""
        self.has_unused = True
        error = F.raise_error(F.lit(_UNUSED)).cast(spark_type(column.type))
        return self._session.expression(error._jc)


def _computes_unused(plan: JavaObject) -> bool:
    """Return whether an optimized plan computes a column that is not read."""
    if any(_UNUSED in str(expression.sql()) for expression in items_of(plan.expressions())):
        return True
    return any(map(_computes_unused, items_of(plan.children())))


def _required(parents: tuple[JavaObject, ...]) -> set[int] | None:
    """Return the columns of a leaf that the operations above it refer to; ``None`` if the result has all of them."""
    found: set[int] = set()
    for parent in reversed(parents):
        kind = class_name(parent)
        if kind in _RENAMING:
            continue
        if kind not in _CHOOSING and kind not in _PASSING:
            return None
        found |= _references(parent)
        if kind in _CHOOSING:
            return found
    return None


def _leaves(plan: JavaObject, scans: Scans) -> Iterator[JavaObject]:
    return (leaf for leaf in items_of(plan.collectLeaves()) if _is_template(leaf, scans))


def _is_template(plan: JavaObject, scans: Scans) -> bool:
    return class_name(plan) == _LEAF and plan.rdd().id() in scans


def _key(leaf: JavaObject) -> _Key:
    return leaf.rdd().id(), leaf.output().apply(0).exprId().id()
