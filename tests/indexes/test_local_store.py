"""Local databases: each is open in one place at a time, and is deleted if it cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from table_format.indexes.local_store import LocalStoreError, open_local_store

_HOLD = """
import sys
from pathlib import Path
from table_format.indexes.local_store import open_local_store
store = open_local_store(Path(sys.argv[1]), "keys")
print(store.path.name, flush=True)
sys.stdin.readline()
"""


def test_a_second_user_gets_another_slot(tmp_path: Path) -> None:
    first = open_local_store(tmp_path, "keys")
    second = open_local_store(tmp_path, "keys")
    assert [store.path.name for store in (first, second)] == ["keys-0.duckdb", "keys-1.duckdb"]
    first.close()
    third = open_local_store(tmp_path, "keys")
    assert third.path == first.path
    second.close()
    third.close()


def test_a_slot_that_another_process_uses_is_not_opened(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "keys-0.duckdb\n"
        store = open_local_store(tmp_path, "keys")
        assert store.path.name == "keys-1.duckdb"
        store.close()
        # Killing a process frees its slot.
        other.kill()
        other.wait()
    again = open_local_store(tmp_path, "keys")
    assert again.path.name == "keys-0.duckdb"
    again.close()


@pytest.mark.parametrize("name", ["plain", "a lock"])
def test_a_file_that_is_not_a_database_is_replaced(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir()
    (directory / "keys-0.duckdb").write_bytes(b"something else" * 1000)
    store = open_local_store(directory, "keys")
    assert store.path.name == "keys-0.duckdb"
    assert store.connection.execute("SELECT 1").fetchall() == [(1,)]
    store.discard()
    assert list(directory.iterdir()) == []


def test_the_error_names_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LocalStoreError, match=r"file/below: the local index cannot be opened.*'local-cache.dir'"):
        open_local_store(tmp_path / "file" / "below", "keys")


@pytest.mark.parametrize("times", [1, 2])
def test_a_directory_that_another_process_deletes_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    connect, deleted = duckdb.connect, list[Path]()

    def after_a_deletion(path: str, **settings: Any) -> Any:
        if len(deleted) < times:
            deleted.append(Path(path).parent)
            Path(path).parent.rmdir()
        return connect(path, **settings)

    monkeypatch.setattr(duckdb, "connect", after_a_deletion)
    store = open_local_store(tmp_path / "table", "keys")
    assert deleted == [tmp_path / "table"] * times
    store.discard()


def test_the_error_names_a_directory_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "table").write_text("a file")
    with pytest.raises(LocalStoreError, match=r"table: the local index cannot be opened .*'local-cache.dir'"):
        open_local_store(tmp_path / "table", "keys")


def test_a_spawned_process_shows_no_progress_bar(tmp_path: Path) -> None:
    """DuckDB takes a process without a main file for interactive."""
    setting = "SELECT current_setting('enable_progress_bar')"
    code = f"""
from pathlib import Path
from table_format.indexes.local_store import open_local_store
print(open_local_store(Path({str(tmp_path)!r}), "t").connection.sql({setting!r}).fetchall())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(False,)]"
