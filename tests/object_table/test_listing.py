"""Which files of a location become rows, and what the rows say."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from table_format.errors import InvalidData
from table_format.io.file_io import FileStatus
from table_format.io.local import LocalFileIO
from table_format.io.locations import Location
from table_format.io.memory import MemoryFileIO
from table_format.object_table.columns import ARROW
from table_format.object_table.listing import listed


def rows(root: Path | str, io: Any = None) -> list[dict[str, Any]]:
    found = listed(Location(io or LocalFileIO(), str(root)))
    assert found.schema == ARROW
    return found.to_pylist()


def test_a_row_says_where_a_file_is_how_long_and_how_old(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "b c.png"
    file.parent.mkdir()
    file.write_bytes(b"12345")
    os.utime(file, (0, 1.5))
    (row,) = rows(tmp_path)
    assert {key: value for key, value in row.items() if value is not None} == {
        "path": str(file),
        "parent_path": str(file.parent),
        "name": "b c.png",
        "length": 5,
        "mtime": datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
        "metadata": [],
    }


def test_hidden_files_and_links_to_files_are_rows_and_nothing_else_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "_x").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / ".hidden" / "_x")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    assert [row["path"] for row in rows(tmp_path)] == [f"{tmp_path}/.hidden/_x", f"{tmp_path}/link"]


def test_the_location_may_be_a_link_but_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [row["path"] for row in rows(tmp_path / "link")] == [f"{tmp_path}/link/a"]
    assert rows(tmp_path / "missing") == []
    with pytest.raises(NotADirectoryError):
        rows(tmp_path / "real" / "a")


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.png", "wb"):  # noqa: PTH123 - bytes
        pass
    with pytest.raises(InvalidData, match=r"'.*\\udcff\.png', is not text in UTF-8"):
        rows(tmp_path)


def test_what_a_store_knows_of_owners_and_accesses_is_shown() -> None:
    class Knowing(MemoryFileIO):
        def list(self, directory: str) -> list[FileStatus]:
            return [FileStatus("a", 1, 2, is_directory=False, accessed_ms=3, owner="ann")]

    (row,) = rows("/data", Knowing())
    assert (row["owner"], row["atime"].timestamp()) == ("ann", 0.003)
