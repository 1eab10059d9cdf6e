"""The replay of columns has the same result as the replay of entries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs.manifest_avro import encode_manifest
from table_format.codecs.manifest_columns import ManifestColumns, decode_manifest_columns
from table_format.metastore.manifest.replay import ReplayError, live_entries, merge_entries
from table_format.metastore.manifest.replay_columns import ChosenEntries, live_rows
from table_format.model.manifest import FileKind, ManifestEntry
from tests.support.matrix import tries
from tests.support.metastore_table import a_table

TABLE = a_table(primary_keys=("k",))
FILE = TABLE.file(name="a")


@st.composite
def entries(draw) -> ManifestEntry:
    file = replace(
        FILE,
        file_name=draw(st.sampled_from("abcde")),
        level=draw(st.sampled_from([0, 0, 5])),
        extra_files=draw(st.sampled_from([(), (), ("x",)])),
        embedded_file_index=draw(st.sampled_from([None, None, b"i"])),
        external_path=draw(st.sampled_from([None, None, "p"])),
    )
    kind = draw(st.sampled_from([FileKind.ADD, FileKind.ADD, FileKind.DELETE]))
    return ManifestEntry(kind, draw(st.sampled_from([b"p", b"q"])), draw(st.sampled_from([0, 0, 1])), 2, file)


@st.composite
def histories(draw) -> list[list[ManifestEntry]]:
    """Manifests, most of which can be replayed: live files are removed, and other files are added."""
    live: list[ManifestEntry] = []
    manifests = []
    for size in draw(st.lists(st.integers(0, 8), max_size=4)):
        manifest = []
        for _ in range(size):
            entry = draw(entries())
            if draw(st.integers(0, 30)):
                there = [e for e in live if e.identifier == entry.identifier]
                entry = replace(entry, kind=FileKind.DELETE if there else FileKind.ADD)
                live = [e for e in live if e not in there] if there else [*live, entry]
            manifest.append(entry)
        manifests.append(manifest)
    return manifests


def in_columns(manifest: list[ManifestEntry], *, decoded: bool) -> ManifestColumns:
    return decode_manifest_columns(encode_manifest(manifest), path="m") if decoded else ManifestColumns.of(manifest)


@settings(max_examples=tries(40, many=80), deadline=None, derandomize=True)
@given(histories(), st.booleans(), st.data())
def test_live_files_and_errors_are_those_of_the_replay_of_entries(manifests, decoded, data):
    wanted = [data.draw(st.sets(st.sampled_from("pq"), min_size=1)) for _ in manifests[:1]] or [set("pq")]
    partitions = {name.encode() for name in wanted[0]}
    chosen = []
    for manifest in manifests:
        rows = np.array([i for i, entry in enumerate(manifest) if entry.partition in partitions], np.int64)
        chosen.append(ChosenEntries(in_columns(manifest, decoded=decoded), rows))

    def outcome(replay):
        try:
            return replay()
        except ReplayError as error:
            return str(error), error.entry

    by_columns = outcome(lambda: [entry for part in live_rows(chosen) for entry in part.entries()])
    flat = [entry for manifest in manifests for entry in manifest if entry.partition in partitions]
    assert by_columns == outcome(lambda: live_entries(merge_entries(flat)))


def test_files_that_were_not_removed_are_found_without_building_entries():
    columns = decode_manifest_columns(encode_manifest([ManifestEntry(FileKind.ADD, b"", 0, 1, FILE)]), path="m")
    (found,) = live_rows([ChosenEntries(columns, np.arange(1))])
    assert len(found) == 1
    assert columns._made == [None]


def test_a_replay_without_entries_is_empty():
    assert live_rows([]) == []


@pytest.mark.parametrize("decoded", [True, False])
def test_a_removal_that_is_left_over_is_named(decoded):
    manifest = [ManifestEntry(kind, b"", 0, 1, replace(FILE, file_name=kind.name)) for kind in FileKind]
    with pytest.raises(ReplayError, match=r"file 'DELETE' \(bucket 0, level 0\) is removed although it does not exist"):
        live_rows([ChosenEntries(in_columns(manifest, decoded=decoded), np.arange(2))])
