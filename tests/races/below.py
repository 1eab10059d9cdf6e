"""A local store whose root is a directory, so that tables with fixed paths can be in a temporary directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from table_format.io.local import LocalFileIO


class Below:
    """Every verb of the local store, with a directory put before the path."""

    def __init__(self, io: LocalFileIO, root: str) -> None:
        self._io = io
        self._root = root

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        call = getattr(self._io, verb)
        return lambda path, *arguments: call(self._root + path, *arguments)
