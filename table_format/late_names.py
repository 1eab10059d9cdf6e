"""Names of a package that are imported when they are first used.

A process that imports one module of a package imports the package first. Spark starts many short processes, which need
few modules: they import only those.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pkgutil import resolve_name


def late_names(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` for a package whose names are in these modules.

    >>> get, names = late_names("json", {"Decoder": "json.decoder:JSONDecoder"})
    >>> get("Decoder")
    <class 'json.decoder.JSONDecoder'>
    """

    def get(name: str) -> object:
        if name not in places:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = resolve_name(places[name])
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
