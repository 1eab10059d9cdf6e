from __future__ import annotations

import pytest

from table_format.metastore.manifest.replay import ReplayError, live_entries, merge_entries
from table_format.model.manifest import FileKind, ManifestEntry
from tests.support.metastore_table import a_table

TABLE = a_table(primary_keys=("k",))


def entry(text: str) -> ManifestEntry:
    """``+a0``: add file a at level 0."""
    kind = FileKind.ADD if text[0] == "+" else FileKind.DELETE
    file = TABLE.file(name=text[1], level=int(text[2]))
    return ManifestEntry(kind, TABLE.one_partition(None), 0, 1, file)


def shown(entries) -> str:
    return " ".join(("+" if e.kind is FileKind.ADD else "-") + f"{e.file.file_name}{e.file.level}" for e in entries)


@pytest.mark.parametrize(
    ("entries", "merged"),
    [
        ("", ""),
        ("+a0 +b0", "+a0 +b0"),
        ("+a0 +b0 -a0", "+b0"),
        ("+a0 -a0 +a1", "+a1"),
        ("+a0 +a1 -a0", "+a1"),
        ("-a0", "-a0"),
        ("-a0 +a1 +b0", "-a0 +a1 +b0"),
        ("+a0 -a0 +a0", "+a0"),
    ],
)
def test_a_replay_returns_the_remaining_entries(entries, merged):
    assert shown(merge_entries(map(entry, entries.split())).values()) == merged


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ("+a0 +a0", "file 'a' (bucket 0, level 0) is added although it already exists"),
        ("-a0 +a0", "file 'a' (bucket 0, level 0) is added although it already exists"),
        ("-a0 -a0", "file 'a' (bucket 0, level 0) is removed twice"),
        ("+a1 -a1 -a1", "file 'a' (bucket 0, level 1) is removed although it does not exist"),
        ("+a0 -a1", "file 'a' (bucket 0, level 1) is removed although it does not exist"),
    ],
)
def test_entries_that_contradict_each_other_are_refused(entries, problem):
    with pytest.raises(ReplayError) as caught:
        live_entries(merge_entries(map(entry, entries.split())))
    assert str(caught.value) == problem


def test_partition_and_bucket_distinguish_files():
    from dataclasses import replace

    one = entry("+a0")
    assert len(live_entries(merge_entries([one, replace(one, bucket=1)]))) == 2
