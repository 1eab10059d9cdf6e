"""The stores every law of ``FileIO`` is tried on, and a directory of its own for each test."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO
from table_format.io.memory import MemoryFileIO


@dataclass(frozen=True)
class Place:
    """A store and a directory in it that holds nothing yet."""

    io: FileIO
    root: str

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def names(self, directory: str = "") -> list[str]:
        where = f"{self.root}/{directory}" if directory else self.root
        return [status.name for status in self.io.list(where)]


@pytest.fixture(params=["local", "memory"])
def place(request, tmp_path) -> Place:
    if request.param == "local":
        return Place(LocalFileIO(), str(tmp_path))
    return Place(MemoryFileIO(), "/some/root")
