"""Java classes that PySpark finds once.

PySpark asks the JVM for a class by its name at each use: for ``jvm.org.apache.spark.sql.functions`` once for each part
of the name, and for most of them the JVM looks into each of Spark's jars. A fifth of the time of a small statement goes
there. The answers never change while a JVM lives, so tests keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass, JavaPackage, JVMView  # type: ignore[import-untyped]


def keep_known_classes() -> None:
    """Keep the classes and packages that each gateway has found. A second call changes nothing."""
    for view in (JavaPackage, JVMView):
        if not hasattr(view.__getattr__, "found_once"):
            view.__getattr__ = _once(view.__getattr__)


def _once(find: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    known: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    def found(self: Any, name: str) -> Any:
        of_gateway = known.setdefault(self._gateway_client, {})
        key = f"{vars(self).get('_fqn', '')}.{name}"
        if key not in of_gateway:
            member = find(self, name)
            if not isinstance(member, JavaClass | JavaPackage):
                return member
            of_gateway[key] = member
        return of_gateway[key]

    found.found_once = True  # type: ignore[attr-defined]  # a mark of this function
    return found
