"""What only the local store can show: the disk under it."""

from __future__ import annotations

import errno
import os
import pickle
import stat
from pathlib import Path

import pytest

from table_format.io.file_io import UnexpectedKind
from table_format.io.local import LocalFileIO
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


def test_a_growing_file_is_written_to_disk_before_it_is_closed(tmp_path, monkeypatch):
    ranges = []
    monkeypatch.setattr(os, "posix_fadvise", lambda handle, start, length, advice: ranges.append((start, length)))
    piece = bytes(3 << 20)
    with LocalFileIO().open_output(f"{tmp_path}/f") as file:
        for _ in range(7):
            file.write(piece)
    assert ranges == [(0, 9 << 20), (9 << 20, 9 << 20)]
    assert (tmp_path / "f").read_bytes() == piece * 7


@pytest.mark.parametrize("system", ["without this advice", "which refuses it"])
def test_a_file_grows_on_a_system(system, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    if system == "which refuses it":
        monkeypatch.setattr(os, "posix_fadvise", refuse)
    else:
        monkeypatch.delattr(os, "posix_fadvise")
    with LocalFileIO().open_output(f"{tmp_path}/f") as file:
        file.write(bytes(20 << 20))
    assert (tmp_path / "f").stat().st_size == 20 << 20


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


def write_durably(path):
    with LocalFileIO().open_output(path) as sink:
        sink.write(b"1")


WRITES = {
    "create": lambda path: LocalFileIO().create(path, b"1"),
    "overwrite": lambda path: LocalFileIO().overwrite(path, b"1"),
    "open_output": write_durably,
}


@pytest.mark.parametrize(
    ("verb", "call"), [("create", "write"), ("create", "fsync"), ("overwrite", "write"), ("open_output", "fsync")]
)
def test_the_error_of_a_full_disk_names_the_file(tmp_path, monkeypatch, verb, call):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = f"{tmp_path}/f"
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        WRITES[verb](path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, path)


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


def test_a_directory_that_the_file_system_does_not_create_is_an_error(tmp_path, monkeypatch):
    """A directory of /proc or of an automounter answers so."""

    def refuse(path, *_arguments, **_options):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(FileNotFoundError, match=r"refuses to create the directory.*/warehouse/a\.db'"):
        LocalFileIO().make_directory(f"{tmp_path}/warehouse/a.db")
    with pytest.raises(FileNotFoundError, match=r"refuses to create the directory.*/warehouse'"):
        LocalFileIO().create(f"{tmp_path}/warehouse/f", b"1")


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


def test_a_link_has_the_facts_of_what_it_leads_to_and_says_that_it_is_one(tmp_path):
    io = LocalFileIO()
    io.create(f"{tmp_path}/f", b"123")
    io.make_directory(f"{tmp_path}/d")
    for name, target in (("to_d", "d"), ("to_f", "f"), ("to_nothing", "gone"), ("to_itself", "to_itself")):
        (tmp_path / name).symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    found = {s.name: (s.size, s.is_directory, s.is_link, s.is_special) for s in io.list(str(tmp_path))}
    assert found == {
        "d": (0, True, False, False),
        "f": (3, False, False, False),
        "pipe": (0, False, False, True),
        "to_d": (0, True, True, False),
        "to_f": (3, False, True, False),
        "to_itself": (0, False, True, True),
        "to_nothing": (0, False, True, True),
    }
    assert all(
        io.status(f"{tmp_path}/{name}") == status for name, status in zip(found, io.list(str(tmp_path)), strict=True)
    )


@pytest.mark.parametrize("verb", ["read", "open_input"])
@pytest.mark.parametrize("target", ["/dev/zero", "gone", "odd", "pipe"])
def test_what_is_no_file_is_not_opened(tmp_path, verb, target):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "odd").symlink_to(target)
    with pytest.raises(UnexpectedKind, match=f"{tmp_path}/odd"):
        getattr(LocalFileIO(), verb)(f"{tmp_path}/odd")


def test_deletion_takes_a_link_and_never_what_it_leads_to(tmp_path):
    io = LocalFileIO()
    io.create(f"{tmp_path}/kept/f", b"1")
    io.make_directory(f"{tmp_path}/empty")
    links = {name: tmp_path / name for name in ("file", "tree", "directory", "table/inner")}
    (tmp_path / "table").mkdir()
    for name, link in links.items():
        link.symlink_to(tmp_path / {"file": "kept/f", "directory": "empty"}.get(name, "kept"))
    assert io.delete_empty_directory(f"{tmp_path}/directory") is False
    io.delete(f"{tmp_path}/file")
    io.delete(f"{tmp_path}/directory")
    io.delete_tree(f"{tmp_path}/tree")
    io.delete_tree(f"{tmp_path}/table")
    assert entries(tmp_path) == ["empty", "kept"]
    assert io.read(f"{tmp_path}/kept/f") == b"1"


def test_below_a_link_that_leads_nowhere_nothing_is_known_to_be_missing(tmp_path):
    (tmp_path / "table").symlink_to("unmounted")
    for act in (LocalFileIO().list, LocalFileIO().list_hidden, LocalFileIO().read):
        with pytest.raises(UnexpectedKind, match="leads nowhere"):
            act(f"{tmp_path}/table/snapshot")
    assert LocalFileIO().list(f"{tmp_path}/nothing/snapshot") == []


@pytest.mark.parametrize("target", ["real", "../outer/real"])
def test_a_linked_directory_is_moved_as_a_link(tmp_path, target):
    io = LocalFileIO()
    outer = tmp_path / "outer"
    io.create(f"{outer}/real/f", b"1")
    (outer / "link").symlink_to(target)
    io.rename_directory(f"{outer}/link", f"{tmp_path}/deep/er/moved")
    assert io.read(f"{tmp_path}/deep/er/moved/f") == b"1"
    assert entries(outer) == ["real"]
    io.rename_directory(f"{tmp_path}/deep/er/moved", f"{outer}/link")
    with pytest.raises(FileExistsError):
        io.rename_directory(f"{outer}/link", f"{outer}/real")
    assert io.read(f"{outer}/link/f") == b"1"


def test_a_scratch_file_must_be_new_and_is_not_made_durable(tmp_path, monkeypatch):
    io = LocalFileIO()
    io.make_directory(f"{tmp_path}/exchange")
    with io.open_scratch(f"{tmp_path}/exchange/a") as file:
        monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("the file was synchronised"))
        file.write(b"rows")
    assert io.read(f"{tmp_path}/exchange/a") == b"rows"
    with pytest.raises(FileExistsError):
        io.open_scratch(f"{tmp_path}/exchange/a")
