"""An object table of three files, in a store that a test can act on while it is listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from table_format import Catalog, ObjectTable, Schema, load_catalog
from table_format.io.file_io import FileStatus
from table_format.io.memory import MemoryFileIO

LOCATION = "/data/images"


class ActingIO(MemoryFileIO):
    """Calls ``acts`` in turn, each just after a listing of the location."""

    def __init__(self) -> None:
        super().__init__()
        self.acts: list[Callable[[], object]] = []

    def list(self, directory: str) -> list[FileStatus]:
        found = super().list(directory)
        if directory == LOCATION and self.acts:
            self.acts.pop(0)()
        return found


@dataclass(frozen=True)
class Images:
    """An object table, and the files of its location."""

    io: ActingIO
    catalog: Catalog

    @property
    def table(self) -> ObjectTable:
        found = self.catalog.load_table("db.images")
        assert isinstance(found, ObjectTable)
        return found

    def put(self, *names: str, data: bytes = b"png") -> None:
        for name in names:
            self.io.overwrite(f"{LOCATION}/{name}", data)

    def names(self, **options: str) -> list[str]:
        given = {key.replace("_", "-"): value for key, value in options.items()}
        rows = self.table.scan(["path"], options={f"scan.{key}": value for key, value in given.items()})
        return sorted(path.removeprefix(f"{LOCATION}/") for path in rows.to_arrow()["path"].to_pylist())


@pytest.fixture
def images() -> Images:
    io = ActingIO()
    catalog = load_catalog({"warehouse": "/w"}, file_io=io)
    catalog.create_database("db")
    options = {"type": "object-table", "object-location": LOCATION}
    catalog.create_table("db.images", Schema((), options=options))
    found = Images(io, catalog)
    found.put("a.png", "sub/b.png", ".hidden")
    return found
