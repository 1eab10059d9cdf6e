"""The names of the tables in a directory tree."""

from __future__ import annotations

import errno

import pytest

from table_format import Schema
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.io.file_io import FileStatus
from table_format.io.memory import MemoryFileIO
from table_format.model.types import DataField, IntType

FIELDS = (DataField(0, "k", IntType()),)


class Refusing(MemoryFileIO):
    """A store that does not show one directory."""

    def list(self, directory: str) -> list[FileStatus]:
        if directory.startswith("/warehouse/db.db/secret/"):
            raise PermissionError(errno.EACCES, "Permission denied", directory)
        return super().list(directory)


def test_a_directory_that_cannot_be_read_is_listed_and_does_not_hide_the_other_tables(
    caplog: pytest.LogCaptureFixture,
) -> None:
    catalog = FileSystemCatalog("/warehouse", Refusing())
    catalog.create_database("db")
    for name in ("open", "other"):
        catalog.create_table(f"db.{name}", Schema(FIELDS))
    catalog.io.create("/warehouse/db.db/secret/schema/schema-0", b"{}")
    assert catalog.list_tables("db") == ("open", "other", "secret")
    assert "/warehouse/db.db/secret is listed as a table, but it cannot be read: " in caplog.text
    with pytest.raises(PermissionError, match=r"Permission denied: '/warehouse/db.db/secret/schema'"):
        catalog.load_table("db.secret")
    tables = catalog.load_system_table("sys.tables").scan().to_arrow()
    assert tables["table_name"].to_pylist() == ["open", "other"]
