"""Reading the deletion vectors of data files from the index files of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from table_format import Table, load_catalog
from table_format.codecs.deletion_vector import DeletionVector, encode_index_file
from table_format.errors import BadEncoding, CorruptionError, MissingFile, UnsupportedFeature
from table_format.indexes.deletion_vectors import VectorReader, deletion_files, index_file_path
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import TablePaths
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import EMPTY_ROW
from table_format.model.manifest import (
    DELETION_VECTORS,
    HASH,
    DeletionVectorRange,
    FileKind,
    IndexFileMeta,
    IndexManifestEntry,
)
from table_format.model.split import DeletionFile
from tests.support.golden import case_names, golden_case

PATHS = TablePaths("/w/db.db/t")
CASES = [
    case
    for case in case_names()
    if case.startswith(("append_deletion_vectors", "pk_deletion_vectors", "spark_modes", "thin_mode"))
]


def entry(name: str, **members: object) -> IndexManifestEntry:
    ranges = (DeletionVectorRange(f"{name}-data", 1, 24, 2),)
    file = IndexFileMeta(
        index_type=DELETION_VECTORS, file_name=name, file_size=33, row_count=1, deletion_vector_ranges=ranges
    )
    return IndexManifestEntry(FileKind.ADD, EMPTY_ROW, 3, replace(file, **members))  # type: ignore[arg-type]


def in_table(_partition: bytes, bucket: int, name: str, *, beside_data: bool = False) -> str:
    return PATHS.index_file("dt=1", bucket, name, beside_data=beside_data)


def located(*entries: IndexManifestEntry) -> dict[BucketId, dict[str, DeletionFile]]:
    return deletion_files(entries, in_table)


# --- locations -------------------------------------------------------------------------------------------------------


def test_index_files_are_in_the_index_directory_or_next_to_the_data_or_at_an_external_path() -> None:
    def path_of(index: IndexManifestEntry, *, beside_data: bool = False) -> str:
        return index_file_path(index, partial(in_table, beside_data=beside_data))

    assert path_of(entry("index-0")) == "/w/db.db/t/index/index-0"
    assert path_of(entry("index-0"), beside_data=True) == "/w/db.db/t/dt=1/bucket-3/index-0"
    assert path_of(entry("i", external_path="file:/elsewhere/i")) == "/elsewhere/i"
    assert path_of(entry("i", external_path="/elsewhere/i"), beside_data=True) == "/elsewhere/i"


@pytest.mark.parametrize("path", ["s3://bucket/i", "oss://b/i", "hdfs:/i", "elsewhere/i", "/w/../i"])
def test_the_error_names_an_index_file_outside_the_file_system(path: str) -> None:
    with pytest.raises(UnsupportedFeature, match="outside the file system") as refusal:
        located(entry("i", external_path=path))
    assert path in str(refusal.value)


def test_deletion_files_are_grouped_by_partition_and_bucket() -> None:
    other = replace(entry("index-1"), bucket=4)
    hashes = entry("index-2", index_type=HASH, deletion_vector_ranges=None)
    empty = entry("index-3", deletion_vector_ranges=())
    assert located(entry("index-0"), other, hashes, empty) == {
        (EMPTY_ROW, 3): {
            "index-0-data": DeletionFile("/w/db.db/t/index/index-0", DeletionVectorRange("index-0-data", 1, 24, 2))
        },
        (EMPTY_ROW, 4): {
            "index-1-data": DeletionFile("/w/db.db/t/index/index-1", DeletionVectorRange("index-1-data", 1, 24, 2))
        },
    }


def test_two_vectors_of_one_data_file_are_an_error() -> None:
    twin = entry("index-1", deletion_vector_ranges=entry("index-0").index_file.deletion_vector_ranges)
    with pytest.raises(BadEncoding, match=r"'index-0-data' has another deletion vector in '/w/db.db/t/index/index-0'"):
        located(entry("index-0"), twin)


# --- files of Java ---------------------------------------------------------------------------------------------------


def stored_by_java() -> Iterator[tuple[str, Table, IndexManifestEntry]]:
    """Every index file of deletion vectors of the golden tables, at every snapshot."""
    for case in CASES:
        golden = golden_case(case)
        catalog = load_catalog({"warehouse": str(golden.warehouse)})
        for name in golden.tables:
            table = catalog.load_table(name)
            assert isinstance(table, Table)
            seen = set()
            for snapshot in table.snapshots():
                for index in table.facts.manifests.index_entries(snapshot):
                    file = index.index_file
                    if file.index_type == DELETION_VECTORS and file.file_name not in seen:
                        seen.add(file.file_name)
                        yield f"{case}/{name}", table, index


def test_index_files_of_java_are_re_encoded_to_the_same_bytes() -> None:
    files, vectors, wide, unknown = 0, 0, 0, 0
    for where, table, index in stored_by_java():
        paths, io = table.store.paths, table.store.io
        found = deletion_files([index], table.facts.index_path)
        named = {
            data_file: VectorReader(io).read(file, row_count=1000)
            for data_file, file in found.get((index.partition, index.bucket), {}).items()
        }
        data, ranges = encode_index_file(named)
        stored = index.index_file.deletion_vector_ranges or ()
        assert data == io.read(paths.index(index.index_file.file_name)), where
        assert [(r.data_file, r.offset, r.length) for r in ranges] == [
            (r.data_file, r.offset, r.length) for r in stored
        ], where
        assert all(old.cardinality in (None, new.cardinality) for old, new in zip(stored, ranges, strict=True)), where
        files, vectors = files + 1, vectors + len(named)
        wide += sum(vector.is_wide for vector in named.values())
        unknown += sum(r.cardinality is None for r in stored)
    assert files >= 68
    assert vectors >= 68
    assert wide >= 15
    # Version 0.9 does not record how many rows a vector marks.
    assert unknown >= 30


# --- damage ----------------------------------------------------------------------------------------------------------

VECTORS = {"data-0": range(0, 9, 2), "data-1": [7], "data-2": range(20)}
AT = "/w/db.db/t/index/index-0"


def a_file(io: FileIO, data: bytes) -> None:
    io.delete(AT)
    io.create(AT, data)


def an_index_file(*, is_wide: bool) -> tuple[bytes, list[DeletionFile]]:
    data, ranges = encode_index_file({n: DeletionVector.of(p, is_wide=is_wide) for n, p in VECTORS.items()})
    return data, [DeletionFile(AT, r) for r in ranges]


def rows_read(io: FileIO, files: list[DeletionFile]) -> list[list[int]]:
    return [list(VectorReader(io).read(file, 20).positions) for file in files]


@pytest.mark.parametrize("is_wide", [False, True])
def test_a_damaged_index_file_gives_the_same_rows_or_an_error_that_names_it(is_wide: bool) -> None:
    data, files = an_index_file(is_wide=is_wide)
    io = MemoryFileIO()
    a_file(io, data)
    sound = rows_read(io, files)
    assert sound == [list(positions) for positions in VECTORS.values()]
    broken = [data[:length] for length in range(len(data))]
    broken += [bytes(b ^ (1 << bit % 8) * (i == bit // 8) for i, b in enumerate(data)) for bit in range(8 * len(data))]
    refused = 0
    for damaged in broken:
        a_file(io, damaged)
        try:
            assert rows_read(io, files) == sound
        except CorruptionError as error:
            refused += 1
            assert error.path == AT  # noqa: PT017 - not every damage must raise
    assert refused == len(broken)


def test_the_error_names_a_missing_index_file() -> None:
    with pytest.raises(MissingFile, match="index-0"):
        rows_read(MemoryFileIO(), an_index_file(is_wide=False)[1])


def test_the_error_names_a_range_beyond_the_end() -> None:
    data, (first, *_) = an_index_file(is_wide=False)
    io = MemoryFileIO()
    a_file(io, data)
    with pytest.raises(BadEncoding, match="at offset 5000, found the end"):
        VectorReader(io).read(replace(first, range=replace(first.range, offset=5000)), 20)
