"""Access to Spark's plans in the JVM of a classic session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

JavaObject: TypeAlias = Any
"""An object of the JVM."""


def items_of(items: JavaObject) -> Iterator[JavaObject]:
    """Yield the items of a Scala ``Seq``."""
    for number in range(items.size()):
        yield items.apply(number)


def class_name(node: JavaObject) -> str:
    """Return the class name of a plan or an expression, without its package."""
    # One call to the JVM; ``getClass().getSimpleName()`` would take two.
    return str(node.nodeName())
