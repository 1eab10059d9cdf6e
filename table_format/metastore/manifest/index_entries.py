"""Computes the live index files after a commit (format chapter 04, section 6; Java ``IndexManifestFileHandler``).

An index manifest contains the complete state. A bucket has one index file of each type, so a new one replaces the old
one, which the commit has to name for deletion vectors. In append tables without buckets, deletion-vector files are
independent of each other. The functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from table_format.errors import FileConflict, HashIndexChanged, UnsupportedFeature
from table_format.metastore.manifest.partitions import Partitions
from table_format.model.manifest import DELETION_VECTORS, HASH, FileKind, IndexManifestEntry

_GIVE_UP = "File deletion conflicts detected! Give up committing."


def combine_index(
    base: Sequence[IndexManifestEntry], delta: Iterable[IndexManifestEntry], *, bucketed: bool
) -> tuple[IndexManifestEntry, ...]:
    """Return the live index files after a delta.

    Raises:
        FileConflict: an index file to remove does not exist any more, or a data file would have two deletion vectors.
        UnsupportedFeature: the table has an index of a type that would be lost.
    """
    _refuse_other_types(base)
    live = {_key(entry, bucketed=bucketed): entry for entry in base}
    for entry in sorted(delta, key=lambda e: e.kind is FileKind.ADD):
        key = _key(entry, bucketed=bucketed)
        before = live.get(key)
        if entry.kind is FileKind.DELETE:
            if before is None or before.index_file.file_name != entry.index_file.file_name:
                raise _removed_already(entry, before)
            del live[key]
        elif before is not None and (not bucketed or entry.index_file.index_type == DELETION_VECTORS):
            # Vectors that this commit has not seen must not be lost, because their rows would reappear.
            raise _exists_already(entry, before)
        else:
            live[key] = entry
    _refuse_two_vectors(live.values())
    return tuple(live.values())


def removals(entries: Iterable[IndexManifestEntry], partitions: frozenset[bytes]) -> tuple[IndexManifestEntry, ...]:
    """Return entries that remove all index files of some partitions."""
    return tuple(replace(entry, kind=FileKind.DELETE) for entry in entries if entry.partition in partitions)


def hash_fingerprint(files: Mapping[int, str]) -> bytes:
    """Return a fingerprint of the hash index files of a partition, given by bucket; a file never changes."""
    text = "\n".join(f"{bucket}:{files[bucket]}" for bucket in sorted(files))
    return blake2b(text.encode(), digest_size=16).digest()


def find_hash_index_change(
    expected: Mapping[bytes, bytes], live: Iterable[IndexManifestEntry], partitions: Partitions
) -> HashIndexChanged | None:
    """Return the error if the hash index of a partition has changed since rows were assigned to buckets."""
    found: dict[bytes, dict[int, str]] = {partition: {} for partition in expected}
    for entry in live:
        if entry.index_file.index_type == HASH and entry.partition in found:
            found[entry.partition][entry.bucket] = entry.index_file.file_name
    for partition, fingerprint in expected.items():
        files = found[partition]
        if hash_fingerprint(files) != fingerprint:
            shown = ", ".join(f"'{files[bucket]}' of bucket {bucket}" for bucket in sorted(files)[:4])
            more = f" and {len(files) - 4} more" if len(files) > 4 else ""
            return HashIndexChanged(
                f"The hash index of {partitions.shown(partition)} was changed by another commit: it now consists "
                f"of {shown or 'nothing'}{more}, but the buckets of these rows were chosen by an older one. "
                "Nothing was "
                "committed; write the rows again"
            )
    return None


def _key(entry: IndexManifestEntry, *, bucketed: bool) -> tuple[object, ...]:
    file = entry.index_file
    if file.index_type == DELETION_VECTORS and not bucketed:
        return (file.file_name,)
    return (entry.partition, entry.bucket, file.index_type)


def _refuse_other_types(entries: Iterable[IndexManifestEntry]) -> None:
    """Refuse indexes of later releases, such as ``btree``: a bucket has several, with more members in their entries."""
    others = sorted({entry.index_file.index_type for entry in entries} - {HASH, DELETION_VECTORS})
    if others:
        feature = f"index of the type '{others[0]}'"
        message = (
            f"the table has an {feature}, which a commit that changes deletion vectors or hash indexes would lose; "
            "write it with Apache Paimon. Reading it, and commits that only add rows, are supported"
        )
        raise UnsupportedFeature(feature, message)


def _refuse_two_vectors(entries: Iterable[IndexManifestEntry]) -> None:
    owner: dict[tuple[bytes, int, str], str] = {}
    for entry in entries:
        for vector in entry.index_file.deletion_vector_ranges or ():
            key = (entry.partition, entry.bucket, vector.data_file)
            other = owner.setdefault(key, entry.index_file.file_name)
            if other != entry.index_file.file_name:
                message = (
                    f"{_GIVE_UP} Data file '{vector.data_file}' would have deletion vectors in '{other}' and in "
                    f"'{entry.index_file.file_name}': another commit deleted rows of it; read again and redo the work"
                )
                raise FileConflict(message)


def _removed_already(entry: IndexManifestEntry, before: IndexManifestEntry | None) -> FileConflict:
    found = "no index file" if before is None else f"'{before.index_file.file_name}'"
    return FileConflict(
        f"{_GIVE_UP} Index file '{entry.index_file.file_name}' of bucket {entry.bucket} cannot be removed, because "
        f"{found} is in its place: another commit replaced it; read again and redo the work"
    )


def _exists_already(entry: IndexManifestEntry, before: IndexManifestEntry) -> FileConflict:
    return FileConflict(
        f"{_GIVE_UP} Index file '{entry.index_file.file_name}' cannot be added, because "
        f"'{before.index_file.file_name}' already exists: another commit deleted rows; read again and redo the work"
    )
