"""Partial reads of index files: a lookup reads only what it needs and verifies it with the hash in the name."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_format.codecs.content_name import stated_parts_hash, states_content
from table_format.codecs.file_index import MIN_BYTES_FOR_PARTS, decode_head, encode_file_index, head_length
from table_format.errors import BadEncoding, CorruptionError, MissingFile
from table_format.formats.index_writer import index_file_name
from table_format.indexes.index_container import checked_container
from table_format.io.local import LocalFileIO
from table_format.io.memory import MemoryFileIO
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.conditions import condition_of
from table_format.kernels.file_index.results import IndexResult
from table_format.model.predicate import Compare, CompareOp
from table_format.model.types import BigIntType

ROWS = 20_000
UUID = "7f60b530-056b-4692-9e07-7c8e9fd4e68a"
NUMBERS = pa.array(np.random.default_rng(5).integers(0, 50, ROWS) * 2)


def payload(index_type: str, **settings: object) -> bytes | None:
    builder = INDEX_TYPES[index_type].builder(BigIntType(), settings)
    builder.add(NUMBERS)
    return builder.finish()


FILTER = payload("bloom-filter", items=ROWS, fpp=0.01)
LARGE = encode_file_index(
    {"a": {"bitmap": payload("bitmap"), "bloom-filter": FILTER, "bsi": payload("bsi")}, "b": {"bloom-filter": FILTER}}
)


def stored(directory: Path, data: bytes, *, named_as: bytes = LARGE) -> str:
    path = directory / index_file_name("data-0.parquet", UUID, named_as)
    path.write_bytes(data)
    return str(path)


def looked_up(path: str, index_type: str, value: int, *, for_look_ups: bool = True) -> IndexResult:
    container = checked_container(LocalFileIO(), path, for_look_ups=for_look_ups)
    found = container.payload(container.places["a"][index_type])
    reader = INDEX_TYPES[index_type].reader(found, BigIntType(), ROWS)
    condition = condition_of(Compare("a", CompareOp.EQ, value), BigIntType())
    assert reader is not None
    assert condition is not None
    return reader.evaluate(condition)


def test_only_a_large_container_with_filters_and_other_indexes_has_a_hash_of_its_parts_in_its_name() -> None:
    assert len(LARGE) > MIN_BYTES_FOR_PARTS
    others = (
        {"a": {"bloom-filter": payload("bloom-filter", items=10), "bitmap": b"short"}},
        {"a": {"bloom-filter": payload("bloom-filter", items=10**6)}},
        {"a": {"bitmap": payload("bitmap"), "bsi": payload("bsi"), "bloom-filter": None}},
    )
    assert stated_parts_hash(index_file_name("d.parquet", UUID, LARGE)) is not None
    for each in others:
        name = index_file_name("d.parquet", UUID, encode_file_index(each))
        assert states_content(name)
        assert stated_parts_hash(name) is None


def test_a_lookup_reads_the_head_and_the_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path, LARGE)
    whole_reads: list[str] = []
    read = LocalFileIO.read

    def noted(io: LocalFileIO, path: str) -> bytes:
        whole_reads.append(path)
        return read(io, path)

    monkeypatch.setattr(LocalFileIO, "read", noted)
    for index_type in ("bloom-filter", "bitmap", "bsi"):
        for value in (-1, 4, 7):
            expected = looked_up(path, index_type, value, for_look_ups=False)
            whole_reads.clear()
            assert looked_up(path, index_type, value) == expected
            assert whole_reads == [path] * (index_type != "bloom-filter")


def test_an_index_file_in_a_remote_store_is_read_with_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    io, path = MemoryFileIO(), f"/t/{index_file_name('data-0.parquet', UUID, LARGE)}"
    io.create(path, LARGE)
    monkeypatch.setattr(MemoryFileIO, "open_input", lambda *_: pytest.fail("read in parts"))
    assert checked_container(io, path, for_look_ups=True).size == len(LARGE)


@pytest.mark.parametrize("index_type", ["bloom-filter", "bitmap", "bsi"])
def test_no_damage_changes_the_result_of_a_lookup(index_type: str, tmp_path: Path) -> None:
    chance = random.Random(8)
    expected = {value: looked_up(stored(tmp_path, LARGE), index_type, value) for value in (4, 7)}
    length = head_length(LARGE, path="f")
    assert length is not None
    places = decode_head(LARGE[:length], path="f")
    used = [(0, length), *((places[c]["bloom-filter"].start, len(FILTER or b"")) for c in "ab")]
    for number in range(200):
        damaged = bytearray(LARGE)
        start, size = used[number % 4] if number % 4 < 3 else (0, len(LARGE))
        at = start + chance.randrange(size)
        damaged[at] ^= 1 << chance.randrange(8)
        path = stored(tmp_path, bytes(damaged) if number % 10 else bytes(damaged[:at]))
        is_used = any(first <= at < first + count for first, count in used) or not number % 10
        try:
            assert {value: looked_up(path, index_type, value) for value in (4, 7)} == expected
            assert not is_used
            assert index_type == "bloom-filter"
        except CorruptionError as error:
            assert error.path == path  # noqa: PT017 - it need not be raised


def test_a_container_that_was_replaced_by_another_is_detected(tmp_path: Path) -> None:
    other = encode_file_index(
        {
            "a": {
                "bitmap": payload("bitmap"),
                "bloom-filter": payload("bloom-filter", items=ROWS, fpp=0.02),
                "bsi": payload("bsi"),
            },
            "b": {"bloom-filter": FILTER},
        }
    )
    with pytest.raises(BadEncoding, match="does not match the hash in its name"):
        looked_up(stored(tmp_path, other), "bloom-filter", 4)


def test_a_lookup_detects_a_missing_container_and_a_damaged_version(tmp_path: Path) -> None:
    path = stored(tmp_path, LARGE)
    Path(path).unlink()
    with pytest.raises(MissingFile):
        checked_container(LocalFileIO(), path, for_look_ups=True)
    newer = bytearray(LARGE)
    newer[11] = 2
    with pytest.raises(BadEncoding, match="does not match"):
        checked_container(LocalFileIO(), stored(tmp_path, bytes(newer)), for_look_ups=True)
