from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import BucketCountChanged, FileConflict, LsmConflict, UnsupportedFeature
from table_format.lsm.keys import key_ranges
from table_format.metastore.commit.conflicts import CommitFacts, find_conflict
from table_format.metastore.manifest.index_entries import combine_index, removals
from table_format.model.manifest import DeletionVectorRange, FileKind, IndexFileMeta, IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import CommitKind
from tests.support.metastore_table import a_table

KEYED = a_table(primary_keys=("k",))
PLAIN = a_table()
APPEND, COMPACT, OVERWRITE = CommitKind.APPEND, CommitKind.COMPACT, CommitKind.OVERWRITE


def entry(text: str) -> ManifestEntry:
    """``+a1:3-5*2``: add file a, level 1, keys 3 to 5, of a partition with 2 buckets."""
    head, _, total = text.partition("*")
    name, _, keys = head[1:].partition(":")
    first, _, last = keys.partition("-")
    file = KEYED.file(int(first or 0), int(last or first or 0), level=int(name[1]), name=name[0])
    kind = FileKind.ADD if text[0] == "+" else FileKind.DELETE
    return ManifestEntry(kind, KEYED.one_partition(None), 0, int(total or 1), file)


def facts(base: str, delta: str, *, kind=COMPACT, keyed=True, index=(), new_index_files=()) -> CommitFacts:
    files = [entry(t) for t in base.split()]
    totals = {e.total_buckets for e in files if e.total_buckets > 0}
    return CommitFacts(
        base=files,
        bucket_counts={KEYED.one_partition(None): totals} if totals else {},
        delta=[entry(t) for t in delta.split()],
        kind=kind,
        base_id=7,
        base_user="other",
        commit_user="me",
        partitions=KEYED.partitions,
        key_range_of=key_ranges(KEYED.schema) if keyed else None,
        index=index,
        new_index_files=frozenset(new_index_files),
    )


@pytest.mark.parametrize(
    ("base", "delta", "kind", "expected"),
    [
        ("", "", APPEND, None),
        ("", "+a0", APPEND, None),
        ("+a0", "+b0", APPEND, None),
        ("+a0:1-9", "+b0:1-9", APPEND, None),
        ("+a0 +b0", "-a0 -b0 +c1", COMPACT, None),
        ("+a0", "-a0 +a1", COMPACT, None),
        ("+a1:1-5 +b1:6-9", "-a1:1-5 -b1:6-9 +c1:1-9", COMPACT, None),
        ("+a1:1-5", "+b1:6-9", COMPACT, None),
        ("+a1:1-5", "+b2:1-9", COMPACT, None),
        ("+a1:1-5 +b1:3-4", "+c2:1-9", COMPACT, None),
        ("+a0", "+a0", APPEND, FileConflict),
        ("", "-a0", COMPACT, FileConflict),
        ("+a1", "-a0 +b1", COMPACT, FileConflict),
        ("+b1", "-a0 +c1", COMPACT, FileConflict),
        ("", "+a0 -a0", APPEND, FileConflict),
        ("", "+a0 +a0", APPEND, FileConflict),
        ("+a0", "-a0 -a0", COMPACT, FileConflict),
        ("+a1:1-5", "+b1:5-9", COMPACT, LsmConflict),
        ("+a1:4-6", "+b1:1-9", COMPACT, LsmConflict),
        ("+a1:1-9", "+b1:4", COMPACT, LsmConflict),
        ("+x0", "-x0 +a5:1-5 +b5:5-9", OVERWRITE, LsmConflict),
        ("+a0*1", "+b0*2", APPEND, BucketCountChanged),
        ("+a0*1", "-a0*1 +b1*2", COMPACT, BucketCountChanged),
        ("", "+a0*1 +b0*2", APPEND, BucketCountChanged),
        ("+a0*1", "-a0*1 +b0*2", OVERWRITE, None),
        ("+a0*1 +b0*3", "+c0*3", APPEND, None),
        ("+a0*-1", "+b0*1", APPEND, None),
    ],
)
def test_a_commit_is_accepted_on_its_base_or_refused_with_a_reason(base, delta, kind, expected):
    found = find_conflict(facts(base, delta, kind=kind))
    assert type(found) is (expected or type(None)), found


def test_tables_without_primary_key_have_no_order_of_keys():
    assert find_conflict(facts("+a1:1-5", "+b1:1-5", keyed=False)) is None


def test_a_conflict_names_file_snapshot_users_and_what_to_do():
    assert str(find_conflict(facts("+b1", "-a0 +c1"))) == (
        "File deletion conflicts detected! Give up committing. In the table, file 'a' (bucket 0, level 0) is removed "
        "although it does not exist. The commit of user 'me' (COMPACT) does not fit the latest snapshot, 7 of user "
        "'other'. Another commit changed the same bucket; read the table again and redo the work, and give each bucket "
        "one writer and one compaction at a time."
    )
    assert "level 1, the keys of 'a' and 'b' overlap" in str(find_conflict(facts("+a1:1-5", "+b1:5-9")))
    assert "changed from 1 to 2 without overwrite" in str(find_conflict(facts("+a0*1", "+b0*2", kind=APPEND)))


# --- index files ----------------------------------------------------------------------------------------------------


def index(text: str, *, partition: bytes | None = None, bucket: int = 0) -> IndexManifestEntry:
    """``+i:a,b``: add the deletion vectors of data files a and b in index file i; ``+h`` is a hash index."""
    name, colon, vectors = text[1:].partition(":")
    ranges = tuple(DeletionVectorRange(v, 1, 22, 1) for v in vectors.split(",")) if colon else None
    kind = FileKind.ADD if text[0] == "+" else FileKind.DELETE
    file = IndexFileMeta(
        index_type="DELETION_VECTORS" if colon else "HASH",
        file_name=name,
        file_size=9,
        row_count=1,
        deletion_vector_ranges=ranges,
    )
    return IndexManifestEntry(kind, KEYED.one_partition(None) if partition is None else partition, bucket, file)


def names(entries):
    return [e.index_file.file_name for e in entries]


@pytest.mark.parametrize(
    ("base", "delta", "bucketed", "after"),
    [
        ("", "+i:a", True, ["i"]),
        ("+i:a", "+j:a,b", True, None),
        ("+i:a", "-i:a +j:a,b", True, ["j"]),
        ("+h", "+g", True, ["g"]),
        ("+i:a", "-i:a +j:a", True, ["j"]),
        ("+i:a +h", "+g", True, ["i", "g"]),
        ("+i:a", "-i:a", True, []),
        ("+i:a", "-j:a +k:a", True, None),
        ("", "-i:a", True, None),
        ("+i:a", "+j:b", False, ["i", "j"]),
        ("+i:a", "-i:a +j:a", False, ["j"]),
        ("+i:a", "+j:a -i:a", False, ["j"]),
        ("+i:a", "+j:a", False, None),
        ("+i:a", "-k:a +j:a", False, None),
        ("+i:a", "+i:b", False, None),
    ],
)
def test_index_files_are_combined_by_bucket_or_by_name(base, delta, bucketed, after):
    live = [index(t) for t in base.split()]
    changes = [index(t) for t in delta.split()]
    if after is None:
        with pytest.raises(FileConflict, match="Give up committing"):
            combine_index(live, changes, bucketed=bucketed)
    else:
        assert names(combine_index(live, changes, bucketed=bucketed)) == after


def test_an_index_of_another_release_is_not_lost():
    later = index("+x")
    later = replace(later, index_file=replace(later.index_file, index_type="btree"))
    with pytest.raises(UnsupportedFeature, match=r"the table has an index of the type 'btree'.*write it with Apache"):
        combine_index([later], [index("+i:a")], bucketed=True)


def test_buckets_and_partitions_have_index_files_of_their_own():
    live = [index("+i:a"), index("+j:a", bucket=1), index("+k:a", partition=b"other")]
    assert names(combine_index(live, [index("-j:a", bucket=1), index("+l:a", bucket=1)], bucketed=True)) == [
        "i",
        "k",
        "l",
    ]
    gone = removals(live, frozenset({b"other"}))
    assert [(e.kind, e.index_file.file_name) for e in gone] == [(FileKind.DELETE, "k")]


@pytest.mark.parametrize(
    ("base", "delta", "vectors", "new", "conflicts"),
    [
        ("+a0 +b0", "-a0 +c0", ["+i:b"], [], False),
        ("+a0 +b0", "-a0 +c0", ["+i:a"], [], True),
        ("+a0", "-a0 +a1", ["+i:a"], [], False),
        ("+a0", "", ["+i:a"], ["i"], False),
        ("+a0", "", ["+i:a", "+j:x"], ["j"], True),
        ("+a0", "+b0", ["+i:x"], [], False),
    ],
)
def test_a_commit_leaves_no_deletion_vector_without_its_data_file(base, delta, vectors, new, conflicts):
    entries = [index(t) for t in vectors]
    found = find_conflict(facts(base, delta, index=entries, new_index_files=new, kind=OVERWRITE))
    assert isinstance(found, FileConflict) is conflicts
