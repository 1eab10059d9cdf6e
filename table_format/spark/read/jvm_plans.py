"""Access to Spark's plans in the JVM of a classic session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JavaObject: TypeAlias = Any
"""An object of the JVM."""

_T = TypeVar("_T")


class OfSession(Generic[_T]):
    """Objects in the JVM of each session, which are looked up once because each step costs a call."""

    def __init__(self, look_up: Callable[[SparkSession], _T]) -> None:
        self._look_up = look_up
        self._found: WeakKeyDictionary[SparkSession, _T] = WeakKeyDictionary()

    def __call__(self, spark: SparkSession) -> _T:
        """Return the objects of a session."""
        found = self._found.get(spark)
        if found is None:
            found = self._found[spark] = self._look_up(spark)
        return found


def items_of(items: JavaObject) -> Iterator[JavaObject]:
    """Yield the items of a Scala ``Seq``."""
    for number in range(items.size()):
        yield items.apply(number)


def class_name(node: JavaObject) -> str:
    """Return the class name of a plan or an expression, without its package."""
    # One call to the JVM; ``getClass().getSimpleName()`` would take two.
    return str(node.nodeName())
