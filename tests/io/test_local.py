"""What only the local store can show: the disk under it."""

from __future__ import annotations

import errno
import os
import pickle
import stat

import pytest

from table_format.io.local import LocalFileIO, absolute_path
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore


class CountingIds:
    def __init__(self):
        self.count = 0

    def uuid(self):
        self.count += 1
        return f"id-{self.count}"


def entries(directory):
    return sorted(path.name for path in directory.iterdir())


def test_no_temporary_file_is_left_whether_create_wins_or_loses(tmp_path):
    io = LocalFileIO()
    io.create(f"{tmp_path}/f", b"1")
    with pytest.raises(FileExistsError):
        io.create(f"{tmp_path}/f", b"2")
    io.overwrite(f"{tmp_path}/f", b"3")
    assert entries(tmp_path) == ["f"]


def test_the_temporary_name_is_hidden_and_made_from_the_given_ids(tmp_path, monkeypatch):
    seen = []
    link = os.link
    monkeypatch.setattr(os, "link", lambda a, b: (seen.append((a, b)), link(a, b)))
    LocalFileIO(CountingIds()).create(f"{tmp_path}/snapshot-1", b"1")
    assert seen == [(f"{tmp_path}/.snapshot-1.id-1.tmp", f"{tmp_path}/snapshot-1")]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV])
def test_without_hard_links_create_says_so_and_publishes_nothing(tmp_path, monkeypatch, code):
    def refuse(source, target):
        raise OSError(code, os.strerror(code), source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="no hard links") as caught:
        LocalFileIO().create(f"{tmp_path}/snapshot-1", b"1")
    assert caught.value.errno == code
    assert entries(tmp_path) == []


@pytest.mark.parametrize("verb", ["create", "overwrite"])
def test_a_full_disk_leaves_neither_the_file_nor_its_temporary_form(tmp_path, monkeypatch, verb):
    def full(handle, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        getattr(LocalFileIO(), verb)(f"{tmp_path}/f", b"1")
    assert entries(tmp_path) == []


def test_bytes_and_name_are_synced_before_create_returns(tmp_path, monkeypatch):
    events = []
    fsync, link = os.fsync, os.link

    def record_sync(handle):
        events.append("directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "bytes")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "link", lambda a, b: (events.append("link"), link(a, b)))
    LocalFileIO().create(f"{tmp_path}/f", b"1")
    assert events == ["bytes", "link", "directory"]
    events.clear()
    LocalFileIO().create(f"{tmp_path}/new/f", b"1")
    assert events == ["directory", "bytes", "link", "directory"]
    events.clear()
    with LocalFileIO().open_output(f"{tmp_path}/out") as sink:
        sink.write(b"1")
    assert events == ["bytes", "directory"]


def test_files_get_the_rights_the_process_gives_to_all_its_files(tmp_path):
    io = LocalFileIO()
    io.create(f"{tmp_path}/a", b"")
    io.overwrite(f"{tmp_path}/b", b"")
    io.open_output(f"{tmp_path}/c").close()
    (tmp_path / "plain").write_bytes(b"")
    assert {(tmp_path / name).stat().st_mode for name in "abc"} == {(tmp_path / "plain").stat().st_mode}


def test_a_directory_without_write_permission_is_an_error_of_the_system(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        LocalFileIO().create(f"{tmp_path}/f", b"")


def test_a_store_travels_between_processes(tmp_path):
    store = TableStore(LocalFileIO(), TablePaths(str(tmp_path)))
    there = pickle.loads(pickle.dumps(store))  # noqa: S301
    there.io.create(f"{tmp_path}/f", b"1")
    assert there.paths == store.paths
    assert store.io.read(f"{tmp_path}/f") == b"1"


def test_a_path_of_the_user_becomes_absolute_and_normal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute_path("warehouse/../w/") == f"{tmp_path}/w"
    assert absolute_path("~").startswith("/")


class FixedClock:
    def __init__(self, now):
        self.now = now

    def now_ms(self):
        return self.now


def test_files_in_memory_have_the_time_of_the_given_clock():
    clock = FixedClock(1000)
    io = MemoryFileIO(clock)
    io.create("/a", b"")
    clock.now = 2000
    io.overwrite("/b", b"")
    assert [(s.name, s.modified_ms) for s in io.list("/")] == [("a", 1000), ("b", 2000)]


@pytest.mark.parametrize("verb", ["create", "overwrite"])
@pytest.mark.parametrize("step", ["open", "write", "fsync", "link", "replace"])
@pytest.mark.parametrize("takes_effect", [False, True])
def test_an_interrupt_leaves_no_temporary_file_and_takes_back_nothing_published(
    tmp_path, monkeypatch, verb, step, takes_effect
):
    real = getattr(os, step)
    calls = []

    def interrupted(*arguments, **options):
        calls.append(step)
        # The syncs and opens after the first are those of the directory.
        if len(calls) > 1 or takes_effect:
            result = real(*arguments, **options)
            if len(calls) > 1:
                return result
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupted)
    try:
        getattr(LocalFileIO(), verb)(f"{tmp_path}/f", b"1")
    except KeyboardInterrupt:
        monkeypatch.undo()
        published = takes_effect and (verb, step) in {("create", "link"), ("overwrite", "replace")}
        assert entries(tmp_path) == (["f"] if published else [])
    else:
        monkeypatch.undo()
        assert not calls
        assert entries(tmp_path) == ["f"]
    LocalFileIO().overwrite(f"{tmp_path}/f", b"2")
    assert entries(tmp_path) == ["f"]
    assert (tmp_path / "f").read_bytes() == b"2"


def test_an_interrupted_rename_of_a_directory_can_be_repeated(tmp_path, monkeypatch):
    io = LocalFileIO()
    io.create(f"{tmp_path}/a/f", b"1")

    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        io.rename_directory(f"{tmp_path}/a", f"{tmp_path}/b")
    monkeypatch.undo()
    assert entries(tmp_path) == ["a"]
    io.rename_directory(f"{tmp_path}/a", f"{tmp_path}/b")
    assert entries(tmp_path) == ["b"]
