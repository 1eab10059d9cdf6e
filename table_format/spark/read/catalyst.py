"""Plans of a classic session: what of a table a query needs, as its optimizer says, and a plan that reads only that.

A frame is made over a *template*: a leaf with the columns of the table that cannot be run. Spark's analyzer and
optimizer work on it as on any other leaf. The optimizer's plan then shows which columns the query needs and which
conditions lie directly above the leaf. A leaf that lacks the rows which do not meet them gives the same result,
whatever the query is, as the optimizer knows nothing of the leaf's rows. In the analyzed plan the leaf is replaced by
a scan that has the same attributes, so columns that were taken from any frame stay valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import functions as F

from table_format.errors import InvalidInputError
from table_format.model.predicate import Predicate, conjunction
from table_format.model.types import DataField, DataType
from table_format.spark.read.catalyst_conditions import ConditionReader
from table_format.spark.read.pinned_scan import PinnedScan
from table_format.spark.read.pushed_conditions import MAX_VALUES, implied
from table_format.spark.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JavaObject: TypeAlias = Any
"""An object of the JVM."""

_Key: TypeAlias = tuple[int, int]
"""A leaf: the number of its RDD and that of its first attribute, which each use of it in a plan has of its own."""

Scans: TypeAlias = Mapping[int, PinnedScan]
"""The scans that templates stand for, by the number of the template's RDD."""

_LEAF: Final = "LogicalRDD"
_UNUSED: Final = "a column of the table was read that the query did not need when it was planned"


@dataclass(frozen=True, slots=True)
class Need:
    """What a query needs of a scan: columns, ``None`` for all, of rows that meet a condition."""

    columns: frozenset[str] | None = None
    condition: Predicate | None = None

    def or_else(self, other: Need) -> Need:
        """What both need."""
        columns = None if self.columns is None or other.columns is None else self.columns | other.columns
        return Need(columns, self.condition if self.condition == other.condition else None)


def template_of(scan: PinnedScan) -> tuple[JavaObject, Scans]:
    """A frame of the JVM that stands for a scan, and the scan by the number that its leaf has."""
    rows = scan.spark.sparkContext.parallelize([0], 1).map(_refuse)
    jdf = scan.spark.createDataFrame(rows, scan.spark_schema)._jdf
    return jdf, {jdf.queryExecution().analyzed().rdd().id(): scan}


def _refuse(_: object) -> Any:  # noqa: ANN401 - never returns
    message = "the template of a table was run instead of a scan of it; this is an error of the library"
    raise InvalidInputError(message)


def resolved(spark: SparkSession, template: JavaObject, scans: Scans) -> JavaObject:
    """The frame of the JVM that reads of each scan what the query of the template needs."""
    needs = dict(needs_of(spark, template, scans))
    return _Replacement(spark, scans, needs).frame(template.queryExecution().analyzed())


def needs_of(spark: SparkSession, template: JavaObject, scans: Scans) -> Sequence[tuple[_Key, Need]]:
    """What the query of the template needs of each leaf."""
    analyzed = template.queryExecution().analyzed()
    leaves = [_key(leaf) for leaf in _leaves(analyzed, scans)]
    everything = [(leaf, Need()) for leaf in leaves]
    if _is_template(analyzed, scans):
        return everything
    # The time of the moment would be an earlier one here than when the query runs.
    jvm: JavaObject = spark._jvm
    current = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    takes_conditions = not analyzed.containsPattern(current)
    found: dict[_Key, Need] = {}
    for key, need in _needs_of(template.queryExecution().optimizedPlan(), (), scans):
        if key not in leaves:
            # The optimizer copied a leaf; which one it was cannot be told.
            return everything
        pruned = need if takes_conditions else Need(need.columns)
        found[key] = found[key].or_else(pruned) if key in found else pruned
    return [(leaf, found.get(leaf, Need())) for leaf in leaves]


def _needs_of(plan: JavaObject, parents: tuple[JavaObject, ...], scans: Scans) -> Iterator[tuple[_Key, Need]]:
    if _is_template(plan, scans):
        yield _key(plan), _need(plan, parents, scans)
        return
    for child in _each(plan.children()):
        yield from _needs_of(child, (*parents, plan), scans)


def _need(leaf: JavaObject, parents: tuple[JavaObject, ...], scans: Scans) -> Need:
    """The need of a leaf below these parents, the nearest last."""
    scan = scans[leaf.rdd().id()]
    columns = _columns(leaf, scan)
    conditions: list[Predicate] = []
    used: set[int] = set()
    above = list(parents)
    while above and _kind(above[-1]) == "Filter":
        test = above.pop().condition()
        nodes = json.loads(test.toJSON())
        used |= _attributes(nodes)
        found = implied(ConditionReader(columns, _OfJvm(test)).read(nodes))
        if found is not None:
            conditions.append(found)
    condition = conjunction(tuple(conditions))
    if not above or _kind(above[-1]) not in ("Project", "Aggregate"):
        return Need(None, condition)
    references = {attribute.exprId().id() for attribute in _each(above[-1].references().toSeq())}
    return Need(frozenset(columns[i].name for i in references | used if i in columns), condition)


def _columns(leaf: JavaObject, scan: PinnedScan) -> Mapping[int, DataField]:
    return dict(zip(_output_ids(leaf), scan.fields, strict=True))


def _output_ids(leaf: JavaObject) -> list[int]:
    return [attribute.exprId().id() for attribute in _each(leaf.output())]


def _attributes(nodes: Sequence[Mapping[str, Any]]) -> set[int]:
    return {node["exprId"]["id"] for node in nodes if "exprId" in node}


@dataclass(frozen=True, slots=True)
class _OfJvm:
    """The expression itself, for what its JSON does not have."""

    expression: JavaObject

    def micros(self, path: Sequence[int]) -> int:
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
    """A plan whose templates are replaced by scans of what is needed."""

    def __init__(self, spark: SparkSession, scans: Scans, needs: Mapping[_Key, Need]) -> None:
        self._spark = spark
        self._scans = scans
        self._needs = needs
        jvm: JavaObject = spark._jvm
        self._jvm = jvm
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions

    def frame(self, plan: JavaObject) -> JavaObject:
        """The frame of the plan."""
        dataset = getattr(self._jvm.org.apache.spark.sql.classic, "Dataset$").__getattr__("MODULE$")
        return dataset.ofRows(self._session, self._replaced(plan))

    @property
    def _session(self) -> JavaObject:
        return self._spark._jsparkSession

    def _replaced(self, plan: JavaObject) -> JavaObject:
        if _is_template(plan, self._scans):
            return self._scan(plan)
        old = list(_each(plan.children()))
        new = [self._replaced(child) for child in old]
        return plan if all(a is b for a, b in zip(old, new, strict=True)) else plan.withNewChildren(self._seq(new))

    def _scan(self, leaf: JavaObject) -> JavaObject:
        scan = self._scans[leaf.rdd().id()]
        need = self._needs.get(_key(leaf), Need())
        columns = None if need.columns is None else [name for name in scan.names if name in need.columns]
        plan = scan.frame(columns, need.condition)._jdf.queryExecution().analyzed()
        read = {attribute.name(): attribute for attribute in _each(plan.output())}
        unused: dict[DataType, JavaObject] = {}
        renamed: list[JavaObject] = []
        for attribute, column in zip(_each(leaf.output()), scan.fields, strict=True):
            value = read.get(column.name)
            if value is None:
                if column.type not in unused:
                    unused[column.type] = self._unused(column)
                value = unused[column.type]
            renamed.append(self._alias(value, column.name, attribute.exprId()))
        project = self._jvm.org.apache.spark.sql.catalyst.plans.logical.Project(self._seq(renamed), plan)
        # The numbers of frames, by which Spark notices that a column may be one of either side of a join.
        project.copyTagsFrom(leaf)
        return project

    def _alias(self, value: JavaObject, name: str, number: JavaObject) -> JavaObject:
        none = self._jvm.scala.Option.empty()
        return self._expressions.Alias(value, name, number, self._seq([]), none, self._seq([]))

    def _unused(self, column: DataField) -> JavaObject:
        """An error instead of a value: were the column needed after all, null would be a wrong answer."""
        error = F.raise_error(F.lit(_UNUSED)).cast(spark_type(column.type))
        return self._session.expression(error._jc)

    def _seq(self, items: Sequence[JavaObject]) -> JavaObject:
        return self._jvm.PythonUtils.toSeq(list(items))


def _each(items: JavaObject) -> Iterator[JavaObject]:
    for number in range(items.size()):
        yield items.apply(number)


def _leaves(plan: JavaObject, scans: Scans) -> Iterator[JavaObject]:
    if _is_template(plan, scans):
        yield plan
        return
    for child in _each(plan.children()):
        yield from _leaves(child, scans)


def _is_template(plan: JavaObject, scans: Scans) -> bool:
    return _kind(plan) == _LEAF and plan.rdd().id() in scans


def _kind(plan: JavaObject) -> str:
    return str(plan.getClass().getSimpleName())


def _key(leaf: JavaObject) -> _Key:
    return leaf.rdd().id(), leaf.output().apply(0).exprId().id()
